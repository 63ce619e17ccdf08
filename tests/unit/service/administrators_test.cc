// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <functional>
#include <string>

#include "base/files/file_descriptor.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/transport/acceptor.h"
#include "daemon/service/transport/listening_socket.h"
#include "tests/support/root.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::administrators_test {
namespace {

constexpr gid_t kGroup = 54'321;

/// A process that changes its user, connects, and lives as long as the object.
class Visitor {
 public:
  explicit Visitor(const std::function<bool()>& become) {
    chmod(directory_.path().c_str(), 0755);
    const auto listener = ListeningSocket::Bind({directory_.path() + "/socket", 0666, {}});
    REQUIRE(listener.ok());
    REQUIRE(pipe(life_.data()) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(life_[1]);
      // The relative path is right even if `become` changes the root directory.
      if (chdir("/") != 0 || !become() || ConnectRaw(listener->path().substr(1)) < 0) _exit(1);
      char byte = 0;
      _exit(static_cast<int>(read(life_[0], &byte, 1)));
    }
    while (!socket_.valid()) {
      pollfd ready{listener->fd(), POLLIN, 0};
      poll(&ready, 1, 100);
      socket_ = FileDescriptor(accept4(listener->fd(), nullptr, nullptr, SOCK_CLOEXEC));
      int status = 0;
      if (!socket_.valid() && waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        FAIL("the visitor could not become what it should");
      }
    }
  }
  ~Visitor() {
    Leave();
    close(life_[0]);
  }

  void Leave() {
    if (pid_ < 0) return;
    close(life_[1]);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] bool IsOneOf(const Administrators& administrators) const {
    return administrators.Include(socket_.get(), ReadPeerCredentials(socket_.get()).value());
  }

 private:
  TemporaryDirectory directory_;
  std::array<int, 2> life_{};
  pid_t pid_ = -1;
  FileDescriptor socket_;
};

bool StayAsItIs() { return true; }

// PR_SET_DUMPABLE lets the process write its own files in /proc.
bool Become(uid_t uid, gid_t gid) {
  return setgroups(1, &gid) == 0 && setresgid(gid, gid, gid) == 0 &&
         setresuid(uid, uid, uid) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

bool Write(const std::string& path, const std::string& text) {
  return (std::ofstream(path) << text << std::flush).good();
}

/// Becomes root of a user namespace of its own.
bool EnterUserNamespace() {
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  return unshare(CLONE_NEWUSER) == 0 && Write("/proc/self/uid_map", "0 " + uid + " 1") &&
         Write("/proc/self/setgroups", "deny") && Write("/proc/self/gid_map", "0 " + gid + " 1");
}

TEST_CASE("the daemon's own user is an administrator") {
  CHECK(Visitor(StayAsItIs).IsOneOf(Administrators{}));
}

TEST_CASE("a peer whose process has ended is no administrator") {
  Visitor visitor(StayAsItIs);
  visitor.Leave();
  CHECK_FALSE(visitor.IsOneOf(Administrators{}));
}

TEST_CASE("other users are no administrators, but members of the group are", "[root]") {
  RequireRoot();
  const Administrators administrators(kGroup);
  CHECK_FALSE(Visitor([] { return Become(54'322, 54'322); }).IsOneOf(administrators));
  CHECK(Visitor([] { return Become(54'322, kGroup); }).IsOneOf(administrators));
  CHECK_FALSE(Visitor([] { return Become(54'322, kGroup); }).IsOneOf(Administrators{}));
  CHECK(Visitor(StayAsItIs).IsOneOf(administrators));
}

TEST_CASE("in another user namespace neither uid 0 nor members of the group are administrators",
          "[root]") {
  RequireRoot();
  const Administrators administrators(kGroup);
  CHECK_FALSE(Visitor(EnterUserNamespace).IsOneOf(administrators));
  CHECK_FALSE(Visitor([] {
                return Become(54'322, kGroup) && EnterUserNamespace();
              }).IsOneOf(administrators));
}

}  // namespace
}  // namespace cccl_cache::daemon::administrators_test
