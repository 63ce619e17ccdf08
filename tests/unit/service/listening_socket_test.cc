// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/listening_socket.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/root.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::listening_socket_test {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

std::string ErrorOf(const ListenOptions& options, ErrorCode code) {
  auto socket = ListeningSocket::Bind(options);
  REQUIRE_FALSE(socket.ok());
  CHECK(socket.error().code == code);
  return socket.error().message;
}

TEST_CASE("the socket has the requested mode and group, and is removed with the object") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  {
    auto socket = ListeningSocket::Bind({path, 0660, getgid()});
    REQUIRE(socket.ok());
    CHECK(ModeOf(path) == 0660);
    CHECK(socket->path() == path);
    const int client = ConnectRaw(path);
    CHECK(client >= 0);
    close(client);
    CHECK((fcntl(socket->fd(), F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("a missing directory is made, open to the socket's users") {
  TemporaryDirectory directory;
  auto own = ListeningSocket::Bind({directory.path() + "/own/deep/socket", 0600, {}});
  REQUIRE(own.ok());
  CHECK(ModeOf(directory.path() + "/own/deep") == 0700);
  auto shared = ListeningSocket::Bind({directory.path() + "/shared/socket", 0666, {}});
  REQUIRE(shared.ok());
  CHECK(ModeOf(directory.path() + "/shared") == 0755);
}

TEST_CASE("a stale socket file is replaced") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  const int stale = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  REQUIRE(bind(stale, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  close(stale);
  auto socket = ListeningSocket::Bind({path, 0600, {}});
  REQUIRE(socket.ok());
  const int client = ConnectRaw(path);
  CHECK(client >= 0);
  close(client);
}

TEST_CASE("a second daemon on a socket gets an error and does not disturb the first") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  auto first = ListeningSocket::Bind({path, 0600, {}});
  REQUIRE(first.ok());
  const std::string message = ErrorOf({path, 0600, {}}, ErrorCode::kUnavailable);
  CHECK(message.starts_with("another daemon answers on " + path));
  const int client = ConnectRaw(path);
  CHECK(client >= 0);
  close(client);
}

TEST_CASE("a directory that others can write is refused") {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/open");
  for (const mode_t mode : {0777, 01777}) {
    REQUIRE(chmod((directory.path() + "/open").c_str(), mode) == 0);
    const std::string message =
        ErrorOf({directory.path() + "/open/socket", 0600, {}}, ErrorCode::kDenied);
    CHECK(message.find(directory.path() + "/open can be written by other") != std::string::npos);
    CHECK(message.find("chmod go-w") != std::string::npos);
  }
}

TEST_CASE("a directory that any group can write is refused, as clients refuse it") {
  TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0775) == 0);
  ErrorOf({directory.path() + "/socket", 0600, {}}, ErrorCode::kDenied);
}

TEST_CASE("a directory below one that others can write is refused") {
  TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() + "/open/inner");
  REQUIRE(chmod((directory.path() + "/open").c_str(), 0777) == 0);
  ErrorOf({directory.path() + "/open/inner/socket", 0600, {}}, ErrorCode::kDenied);
}

TEST_CASE("a directory of another user is refused", "[root]") {
  RequireRoot();
  TemporaryDirectory directory;
  REQUIRE(chown(directory.path().c_str(), 12345, 12345) == 0);
  ErrorOf({directory.path() + "/socket", 0600, {}}, ErrorCode::kDenied);
}

TEST_CASE("a symlink of the same user is followed, and the socket has the resolved path") {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/real");
  std::filesystem::create_directory_symlink(directory.path() + "/real", directory.path() + "/link");
  auto socket = ListeningSocket::Bind({directory.path() + "/link/new/socket", 0600, {}});
  REQUIRE(socket.ok());
  CHECK(socket->path() == directory.path() + "/real/new/socket");
}

TEST_CASE("a socket keeps the path with a symlink if the resolved one is too long") {
  TemporaryDirectory directory;
  const std::string deep = directory.path() + "/" + std::string(100, 'd');
  std::filesystem::create_directory(deep);
  std::filesystem::create_directory_symlink(deep, directory.path() + "/link");
  auto socket = ListeningSocket::Bind({directory.path() + "/link/socket", 0600, {}});
  REQUIRE(socket.ok());
  CHECK(socket->path() == directory.path() + "/link/socket");
  CHECK(std::filesystem::is_socket(deep + "/socket"));
}

TEST_CASE("nothing is made behind another user's symlink", "[root]") {
  RequireRoot();
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/real");
  std::filesystem::create_directory_symlink(directory.path() + "/real", directory.path() + "/link");
  REQUIRE(lchown((directory.path() + "/link").c_str(), 12345, 12345) == 0);
  ErrorOf({directory.path() + "/link/new/socket", 0600, {}}, ErrorCode::kDenied);
  CHECK(std::filesystem::is_empty(directory.path() + "/real"));
}

TEST_CASE("the error about a forbidden group names it, and no socket file is left", "[root]") {
  RequireRoot();
  constexpr uid_t kStranger = 12345;
  constexpr gid_t kOthers = 54321;
  TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
  const std::string own = directory.path() + "/own";
  REQUIRE(mkdir(own.c_str(), 0755) == 0);
  REQUIRE(chown(own.c_str(), kStranger, kStranger) == 0);
  REQUIRE(seteuid(kStranger) == 0);
  const auto socket = ListeningSocket::Bind({own + "/socket", 0660, kOthers});
  REQUIRE(seteuid(0) == 0);
  REQUIRE_FALSE(socket.ok());
  CHECK(socket.error().message.find("group 54321") != std::string::npos);
  CHECK(socket.error().message.find("not permitted") != std::string::npos);
  CHECK(std::filesystem::is_empty(own));
}

TEST_CASE("a directory that can't be made is an error with the remedy") {
  const std::string message = ErrorOf({"/proc/nowhere/socket", 0600, {}}, ErrorCode::kUnavailable);
  CHECK(message.find("choose another directory") != std::string::npos);
}

TEST_CASE("a file that is no socket is left alone") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  std::ofstream(path) << "precious";
  const std::string message = ErrorOf({path, 0600, {}}, ErrorCode::kUnavailable);
  CHECK(message.find("is not a socket") != std::string::npos);
  CHECK(std::filesystem::file_size(path) == 8);
}

TEST_CASE("a path that is relative or too long is refused with the reason") {
  CHECK(ErrorOf({"relative", 0600, {}}, ErrorCode::kInvalidRequest).find("absolute") !=
        std::string::npos);
  CHECK(ErrorOf({"/" + std::string(200, 'x'), 0600, {}}, ErrorCode::kInvalidRequest)
            .find("at most 107") != std::string::npos);
}

TEST_CASE("a socket file that another daemon made meanwhile is not removed") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  std::optional<Result<ListeningSocket>> first = ListeningSocket::Bind({path, 0600, {}});
  REQUIRE(first->ok());
  REQUIRE(unlink(path.c_str()) == 0);
  auto second = ListeningSocket::Bind({path, 0600, {}});
  REQUIRE(second.ok());
  first.reset();
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("a problem is reported if the path of the socket no longer leads to it") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/socket";
  const std::string moved = directory.path() + "/moved";
  auto socket = ListeningSocket::Bind({path, 0600, {}});
  REQUIRE(socket.ok());
  CHECK(socket->Problem().empty());
  REQUIRE(rename(path.c_str(), moved.c_str()) == 0);
  CHECK(socket->Problem().find("restart the daemon") != std::string::npos);
  {
    const auto other = ListeningSocket::Bind({path, 0600, {}});
    REQUIRE(other.ok());
    CHECK_FALSE(socket->Problem().empty());
  }
  REQUIRE(rename(moved.c_str(), path.c_str()) == 0);
  CHECK(socket->Problem().empty());
}

/// Runs FromSystemd in a child, because it takes the descriptors from 3 on, which this process uses
/// for other files. Returns the child's exit code.
int FromSystemdInChild(const std::string& path, const std::string& count, int type,
                       const std::string& name = "cccl-cached.socket",
                       bool for_containers = false) {
  const int fd = socket(AF_UNIX, type, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  listen(fd, 5);
  const pid_t child = fork();
  if (child == 0) {
    if (fd != 3) dup2(fd, 3);
    setenv("LISTEN_FDS", count.c_str(), 1);
    setenv("LISTEN_FDNAMES", name.c_str(), 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    auto sockets = ListeningSocket::FromSystemd();
    if (getenv("LISTEN_FDS") != nullptr || getenv("LISTEN_PID") != nullptr) _exit(90);
    if (!sockets.ok()) _exit(91);
    if (sockets->size() != 1) _exit(92);
    const ListeningSocket& only = sockets->front();
    if (only.path() != path || only.fd() != 3) _exit(93);
    if ((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0 || (fcntl(3, F_GETFL) & O_NONBLOCK) == 0) _exit(94);
    if (only.for_containers() != for_containers) _exit(96);
    sockets->clear();
    // The socket's file belongs to systemd.
    _exit(std::filesystem::exists(path) ? 0 : 95);
  }
  close(fd);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/// Returns whether a child accepts two sockets with these names.
bool TakesTwo(const std::string& names) {
  const TemporaryDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    for (const int fd : {3, 4}) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      const std::string path = directory / std::to_string(fd);
      std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
      close(fd);
      const int made = socket(AF_UNIX, SOCK_STREAM, 0);
      if (bind(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) _exit(2);
      listen(made, 5);
      if (made != fd && dup2(made, fd) != fd) _exit(3);
    }
    setenv("LISTEN_FDS", "2", 1);
    setenv("LISTEN_FDNAMES", names.c_str(), 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    _exit(ListeningSocket::FromSystemd().ok() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) < 2);
  return WEXITSTATUS(status) == 0;
}

TEST_CASE("a listening socket that systemd hands over is used") {
  TemporaryDirectory directory;
  CHECK(FromSystemdInChild(directory.path() + "/socket", "1", SOCK_STREAM) == 0);
}

TEST_CASE("a socket that systemd hands over under the name container is for containers") {
  TemporaryDirectory directory;
  CHECK(FromSystemdInChild(directory.path() + "/c", "1", SOCK_STREAM, "container", true) == 0);
}

TEST_CASE("each of several sockets from systemd must be named container or like its unit") {
  for (const char* wrong : {"cccl-cached.socket:containers", "containers:container", "container",
                            "cccl-cached.socket:other.socket", "cccl-cached.socket:"}) {
    CHECK_FALSE(TakesTwo(wrong));
  }
  for (const char* right : {"cccl-cached.socket:container", "container:cccl-cached.socket",
                            "container:container", "cccl-cached.socket:cccl-cached.socket"}) {
    CHECK(TakesTwo(right));
  }
}

TEST_CASE("a directory with a socket for containers has no other socket or private place") {
  const TemporaryDirectory directory;
  const auto apart = [&](const std::string& node, const std::string& containers,
                         const std::string& place) {
    std::vector<ListeningSocket> sockets;
    sockets.push_back(ListeningSocket::Bind({.path = directory / node}).value());
    sockets.push_back(
        ListeningSocket::Bind({.path = directory / containers, .for_containers = true}).value());
    return ListeningSocket::CheckApart(sockets, {directory / place}).ok();
  };
  CHECK(apart("a/socket", "b/socket", "state"));
  CHECK(apart("a/socket", "a/b/socket", "state"));
  CHECK_FALSE(apart("a/socket", "a/other", "state"));
  CHECK_FALSE(apart("a/b/socket", "a/other", "state"));
  CHECK_FALSE(apart("a/socket", "b/socket", "b/not/made"));
  std::filesystem::create_directory_symlink(directory / "a", directory / "link");
  CHECK_FALSE(apart("a/socket", "link/other", "state"));
  CHECK_FALSE(apart("c/socket", "b/socket", "link/../b/key"));
  CHECK_FALSE(apart("c/socket", "state/part/socket", "state"));
}

TEST_CASE("private places mounted beside a socket for containers are found") {
  const TemporaryDirectory directory;
  for (const char* each : {"a", "b/of-a", "c", "key", "state/part/deep", "own"}) {
    std::filesystem::create_directories(directory / each);
  }
  // Runs in a child, whose mount namespace ends with it. Without the right to make one, mounts are
  // not tested.
  const pid_t child = fork();
  if (child == 0) {
    const auto bind = [&](const char* from, const char* to) {
      return mount((directory / from).c_str(), (directory / to).c_str(), nullptr, MS_BIND, nullptr);
    };
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr)) {
      _exit(0);
    }
    std::vector<ListeningSocket> sockets;
    sockets.push_back(ListeningSocket::Bind({.path = directory / "a/socket"}).value());
    sockets.push_back(
        ListeningSocket::Bind({.path = directory / "b/socket", .for_containers = true}).value());
    const auto apart = [&](const char* place) {
      return ListeningSocket::CheckApart(sockets, {directory / place}).ok();
    };
    int wrong = apart("key") ? 0 : 1;
    const auto apart_beside = [&](const char* mounted, const char* place) {
      if (bind(mounted, "b/of-a") != 0) wrong |= 2;
      const bool is = apart(place);
      umount((directory / "b/of-a").c_str());
      return is;
    };
    if (apart_beside("a", "key")) wrong |= 2;
    if (bind("b", "c") != 0 || apart("c/key") || !apart("key")) wrong |= 4;
    umount((directory / "c").c_str());
    if (apart_beside("state/part", "state") || !apart_beside("own", "state")) wrong |= 8;
    // A directory of another file system that is mounted below the private place.
    if (mount("none", (directory / "state/part").c_str(), "tmpfs", 0, nullptr) != 0) wrong |= 16;
    std::filesystem::create_directory(directory / "state/part/below");
    if (apart_beside("state/part/below", "state") || !apart_beside("own", "state")) wrong |= 32;
    umount((directory / "state/part").c_str());
    // A part of the private place, mounted over the socket's directory.
    if (bind("state/part/deep", "b") != 0 || apart("state") || !apart("own")) wrong |= 64;
    _exit(wrong);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("descriptors that are not listening Unix stream sockets are refused") {
  TemporaryDirectory directory;
  CHECK(FromSystemdInChild(directory.path() + "/datagram", "1", SOCK_DGRAM) == 91);
  CHECK(FromSystemdInChild(directory.path() + "/many", "100000", SOCK_STREAM) == 91);
}

TEST_CASE("sockets that were handed to another process are not used") {
  setenv("LISTEN_FDS", "1", 1);
  setenv("LISTEN_PID", "1", 1);
  auto sockets = ListeningSocket::FromSystemd();
  REQUIRE(sockets.ok());
  CHECK(sockets->empty());
  CHECK(getenv("LISTEN_FDS") == nullptr);
}

}  // namespace
}  // namespace cccl_cache::daemon::listening_socket_test
