// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/file_descriptor.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/limits/peer_process.h"
#include "daemon/service/transport/acceptor.h"
#include "daemon/service/transport/listening_socket.h"
#include "tests/support/root.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::administrators_test {
namespace {

constexpr gid_t kGroup = 54'321;

/// A process that becomes somebody, connects, and lives until the object ends.
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
      // A relative name leads there from any root.
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
  [[nodiscard]] bool SeesSameFiles() const {
    const auto process = PeerProcess::Of(socket_.get());
    return process && process->SeesSameFiles();
  }

 private:
  TemporaryDirectory directory_;
  std::array<int, 2> life_{};
  pid_t pid_ = -1;
  FileDescriptor socket_;
};

bool StayAsItIs() { return true; }

// As a program that this user started, which may write to its own files in /proc.
bool Become(uid_t uid, gid_t gid) {
  return setgroups(1, &gid) == 0 && setresgid(gid, gid, gid) == 0 &&
         setresuid(uid, uid, uid) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

bool Write(const std::string& path, const std::string& text) {
  return (std::ofstream(path) << text << std::flush).good();
}

/// The same user, as root of a user namespace that it made.
bool EnterUserNamespace() {
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  return unshare(CLONE_NEWUSER) == 0 && Write("/proc/self/uid_map", "0 " + uid + " 1") &&
         Write("/proc/self/setgroups", "deny") && Write("/proc/self/gid_map", "0 " + gid + " 1");
}

/// A mounted file system of this process that has nothing but its root, and counts what it is
/// asked.
class CountingFileSystem {
 public:
  CountingFileSystem() : device_(open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    const std::string options =
        "fd=" + std::to_string(device_.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
    REQUIRE(mount("test", path().c_str(), "fuse", 0, options.c_str()) == 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~CountingFileSystem() {
    umount2(path().c_str(), MNT_DETACH);
    thread_.join();
  }

  [[nodiscard]] const std::string& path() const { return directory_.path(); }
  [[nodiscard]] int questions() const { return questions_; }

 private:
  void Serve() {
    std::array<char, FUSE_MIN_READ_BUFFER + 4096> bytes;
    while (true) {
      const ssize_t size = read(device_.get(), bytes.data(), bytes.size());
      if (size < 0 && errno == ENODEV) return;  // unmounted
      if (size < static_cast<ssize_t>(sizeof(fuse_in_header))) continue;
      ++questions_;
      fuse_in_header question;
      memcpy(&question, bytes.data(), sizeof(question));
      Answer(question);
    }
  }
  void Answer(const fuse_in_header& question) {
    fuse_init_out init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = 31;
    init.max_write = 4096;
    fuse_attr_out root{};  // not to be remembered
    root.attr.ino = FUSE_ROOT_ID;
    root.attr.mode = S_IFDIR | 0755;
    root.attr.nlink = 1;
    fuse_out_header head{sizeof(fuse_out_header), 0, question.unique};
    std::string answer;
    if (question.opcode == FUSE_INIT) {
      answer.assign(reinterpret_cast<const char*>(&init), sizeof(init));
    } else if (question.opcode == FUSE_GETATTR) {
      answer.assign(reinterpret_cast<const char*>(&root), sizeof(root));
    } else {
      head.error = -ENOSYS;
    }
    head.len += static_cast<uint32_t>(answer.size());
    answer.insert(0, reinterpret_cast<const char*>(&head), sizeof(head));
    static_cast<void>(write(device_.get(), answer.data(), answer.size()) < 0);
  }

  TemporaryDirectory directory_;
  FileDescriptor device_;
  std::atomic<int> questions_ = 0;
  std::thread thread_;
};

TEST_CASE("the daemon's own user is an administrator") {
  CHECK(Visitor(StayAsItIs).IsOneOf(Administrators{}));
}

TEST_CASE("a process that is gone is no administrator's") {
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

TEST_CASE("uid 0 and members of the group are none in another user namespace", "[root]") {
  RequireRoot();
  const Administrators administrators(kGroup);
  CHECK_FALSE(Visitor(EnterUserNamespace).IsOneOf(administrators));
  CHECK_FALSE(Visitor([] {
                return Become(54'322, kGroup) && EnterUserNamespace();
              }).IsOneOf(administrators));
}

TEST_CASE("a process in the same mount namespace and root sees the same files while it lives") {
  Visitor visitor(StayAsItIs);
  CHECK(visitor.SeesSameFiles());
  visitor.Leave();
  CHECK_FALSE(visitor.SeesSameFiles());
}

TEST_CASE("a process in another mount namespace or root does not see the same files", "[root]") {
  RequireRoot();
  CHECK_FALSE(Visitor([] { return unshare(CLONE_NEWNS) == 0; }).SeesSameFiles());
  // The same directory as the root, mounted once more.
  CHECK_FALSE(Visitor([] {
                return unshare(CLONE_NEWNS) == 0 &&
                       mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       mount("/", "/mnt", nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
                       chroot("/mnt") == 0;
              }).SeesSameFiles());
  CHECK_FALSE(Visitor([] { return chroot("/tmp") == 0; }).SeesSameFiles());
  CHECK(Visitor([] { return chroot("/") == 0; }).SeesSameFiles());
}

TEST_CASE("a peer's root is asked nothing, for it may never answer", "[root]") {
  RequireRoot();
  CountingFileSystem files;
  Visitor visitor([&] { return chroot(files.path().c_str()) == 0; });
  const int before = files.questions();
  CHECK(before > 0);
  CHECK_FALSE(visitor.SeesSameFiles());
  CHECK(files.questions() == before);
}

}  // namespace
}  // namespace cccl_cache::daemon::administrators_test
