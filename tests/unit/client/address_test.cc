// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>

#include "base/files/file_descriptor.h"
#include "base/start_advice.h"
#include "tests/support/root.h"
#include "tests/support/temporary_directory.h"

namespace address_test {

using cccl_cache::DaemonUnreachable;
using cccl_cache::FileDescriptor;
using cccl_cache::FindSocket;
using cccl_cache::SocketSearch;
using cccl_cache::daemon::TemporaryDirectory;

namespace {

std::string Told(const SocketSearch& search, const std::string& path, int error = ENOENT) {
  const cccl_cache::Error told = DaemonUnreachable(search, path, error);
  CHECK(told.status == CCCL_CACHE_NO_DAEMON);
  return told.message;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the error without a daemon names the tried socket and the origin of its path") {
  const TemporaryDirectory directory;
  SocketSearch search;
  search.named_path = directory / "named";
  search.runtime_directory = directory.path();
  search.system_path = directory / "system";
  CHECK(Has(Told(search, search.named_path), directory / "named" + " (from CCCL_CACHE_SOCKET)"));
  CHECK(Has(Told(search, search.system_path), directory / "system" + " (the default)"));
  search.home = directory / "home";
  REQUIRE(search.UsersPaths().size() == 2);
  for (const std::string& path : search.UsersPaths()) {
    CHECK(Has(Told(search, path), path + " (this user's default)"));
  }
  CHECK(Has(Told(search, directory / "other"), " (from --socket or the program)"));
  CHECK(Has(Told(search, ""), "or the program)"));
}

TEST_CASE("the error without a daemon says what is at the path and how to start a daemon") {
  const TemporaryDirectory directory;
  SocketSearch search;
  search.system_path = directory / "absent";
  const std::string file = directory.Write("file", "");
  CHECK(Has(Told(search, directory.path(), ECONNREFUSED), "it is a directory and no socket"));
  CHECK(Has(Told(search, file, ECONNREFUSED), "it is a file and no socket"));
  const std::string told = Told(search, search.system_path);
  CHECK(Has(told, "No such file or directory"));
  CHECK(Has(told, cccl_cache::StartAdvice()));
  search.runtime_directory = directory.path();
  CHECK(Has(Told(search, search.UsersPaths().front()), cccl_cache::kStartOwn));
}

TEST_CASE("the error for a path that the user named says to check the path") {
  const TemporaryDirectory directory;
  SocketSearch search;
  search.named_path = directory / "named";
  for (const std::string& path : {search.named_path, directory / "other"}) {
    const std::string told = Told(search, path);
    CHECK(Has(told, "check that path"));
    CHECK(Has(told, "cccl-cached --socket " + path));
    CHECK_FALSE(Has(told, "systemctl"));
  }
}

TEST_CASE("an absolute socket path may have gRPC's prefix unix:") {
  for (const char* named : {"unix:///tmp/a/socket", "unix:/tmp/a/socket", "/tmp/a/socket"}) {
    CHECK(SocketSearch::FromEnvironment(named).explicit_path == "/tmp/a/socket");
  }
  CHECK(SocketSearch::FromEnvironment("unix:a").explicit_path == "unix:a");
}

namespace {

// A socket in a new directory, on which this process listens.
class Place {
 public:
  explicit Place(const std::string& root)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    std::filesystem::create_directories(root + "/cccl-cached");
    directory_ = root + "/cccl-cached";
    Listen(path());
  }
  /// Creates the socket at `path`.
  Place(const std::string& directory, const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), directory_(directory) {
    std::filesystem::create_directories(directory);
    Listen(path);
  }
  /// Leaves the socket as a daemon does that is killed.
  void Abandon() { socket_.Close(); }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string path() const { return directory_ + "/socket"; }

 private:
  void Listen(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    REQUIRE(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(listen(socket_.get(), SOMAXCONN) == 0);
  }

  FileDescriptor socket_;
  std::string directory_;
};

struct Fixture {
  TemporaryDirectory root;
  Place users{root / "user"};
  Place systems{root / "system"};
  SocketSearch search{"", "", root / "user", systems.path(), ""};
};

}  // namespace

TEST_CASE("an explicit socket comes first, then the environment's, the user's, the system's") {
  Fixture places;
  places.search.explicit_path = "/explicit";
  places.search.named_path = "/named";
  CHECK(*FindSocket(places.search) == "/explicit");
  places.search.explicit_path.clear();
  CHECK(*FindSocket(places.search) == "/named");
  places.search.named_path.clear();
  CHECK(*FindSocket(places.search) == places.users.path());
  std::filesystem::remove(places.users.path());
  CHECK(*FindSocket(places.search) == places.systems.path());
}

TEST_CASE("a socket on which no daemon listens gives way to one that a daemon serves") {
  Fixture places;
  places.search.home = places.root / "home";
  const std::string path = places.search.UsersPaths().back();
  Place below(places.root / "home/.cccl-cached", path);
  places.users.Abandon();
  CHECK(*FindSocket(places.search) == path);
  below.Abandon();
  CHECK(*FindSocket(places.search) == places.systems.path());
  places.systems.Abandon();
  CHECK(*FindSocket(places.search) == places.users.path());
}

TEST_CASE("a runtime directory that is empty or relative is not searched for a socket") {
  Fixture places;
  places.search.runtime_directory.clear();
  CHECK(*FindSocket(places.search) == places.systems.path());
  places.search.runtime_directory = "user";
  CHECK(*FindSocket(places.search) == places.systems.path());
}

TEST_CASE("a socket in a directory that others can write is not trusted") {
  Fixture places;
  REQUIRE(chmod(places.users.directory().c_str(), 0777) == 0);
  CHECK(*FindSocket(places.search) == places.systems.path());
  REQUIRE(chmod(places.systems.directory().c_str(), 0775) == 0);
  const auto none = FindSocket(places.search);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().status == CCCL_CACHE_NO_DAEMON);
  CHECK(none.error().message.find("can be written by other users") != std::string::npos);
  CHECK(none.error().message.find(places.systems.directory()) != std::string::npos);
}

TEST_CASE("a socket below a world-writable directory is refused, unless that directory is sticky") {
  Fixture places;
  REQUIRE(chmod((places.root / "user").c_str(), 0777) == 0);
  CHECK(*FindSocket(places.search) == places.systems.path());
  REQUIRE(chmod((places.root / "user").c_str(), 01777) == 0);
  CHECK(*FindSocket(places.search) == places.users.path());
}

TEST_CASE("a socket behind the user's own link is named by its resolved path") {
  Fixture places;
  const std::string moved = places.root / "moved";
  std::filesystem::rename(places.users.directory(), moved);
  std::filesystem::create_directory_symlink(moved, places.users.directory());
  CHECK(*FindSocket(places.search) == moved + "/socket");
  CHECK(Has(Told(places.search, moved + "/socket"), "(this user's default)"));
}

TEST_CASE("a socket that is the user's own link is followed if its target is trusted") {
  Fixture places;
  std::filesystem::create_directories(places.root / "third/cccl-cached");
  const std::string link = places.root / "third/cccl-cached/socket";
  std::filesystem::create_symlink("../../user/cccl-cached/socket", link);
  places.search.runtime_directory = places.root / "third";
  CHECK(*FindSocket(places.search) == places.users.path());
  REQUIRE(chmod(places.users.directory().c_str(), 0777) == 0);
  CHECK(*FindSocket(places.search) == places.systems.path());
  std::filesystem::remove(link);
  std::filesystem::create_symlink("socket", link);
  CHECK(*FindSocket(places.search) == places.systems.path());
}

TEST_CASE("a socket behind another user's link is not trusted", "[root]") {
  cccl_cache::daemon::RequireRoot();
  Fixture places;
  const std::string link = places.root / "link";
  std::filesystem::create_directory_symlink(places.root / "user", link);
  REQUIRE(lchown(link.c_str(), 12345, 12345) == 0);
  places.search.runtime_directory = link;
  CHECK(*FindSocket(places.search) == places.systems.path());
}

TEST_CASE("a socket in the runtime directory precedes one below the home") {
  Fixture places;
  places.search.home = places.root / "home";
  const std::string path = places.search.UsersPaths().back();
  const Place below(places.root / "home/.cccl-cached", path);
  CHECK(*FindSocket(places.search) == places.users.path());
  places.search.runtime_directory.clear();
  CHECK(*FindSocket(places.search) == path);
  REQUIRE(chmod(below.directory().c_str(), 0770) == 0);
  CHECK(*FindSocket(places.search) == places.systems.path());
}

TEST_CASE("only the system's directory may belong to another user", "[root]") {
  cccl_cache::daemon::RequireRoot();
  Fixture places;
  constexpr uid_t kSomebody = 12345;
  REQUIRE(chown(places.users.directory().c_str(), kSomebody, kSomebody) == 0);
  CHECK(*FindSocket(places.search) == places.systems.path());
  REQUIRE(chown(places.systems.directory().c_str(), kSomebody, kSomebody) == 0);
  CHECK(*FindSocket(places.search) == places.systems.path());
  REQUIRE(chown((places.root / "system").c_str(), kSomebody, kSomebody) == 0);
  CHECK_FALSE(FindSocket(places.search).ok());
}

TEST_CASE("a missing directory that other users could make is not trusted") {
  const TemporaryDirectory root;
  REQUIRE(chmod(root.path().c_str(), 01777) == 0);
  const auto found = FindSocket({"", "", "", root / "absent/socket", ""});
  REQUIRE_FALSE(found.ok());
  CHECK(Has(found.error().message, "the socket " + root / "absent/socket" + " is not used"));
  CHECK(Has(found.error().message, "is missing, and other users could make it"));
}

TEST_CASE("the error about an untrusted socket has its path as it was given") {
  Fixture places;
  std::filesystem::remove(places.systems.path());
  REQUIRE(chmod((places.root / "user").c_str(), 0777) == 0);
  const auto found = FindSocket(places.search);
  REQUIRE_FALSE(found.ok());
  CHECK(Has(found.error().message, "the socket " + places.users.path() + " is not used"));
}

TEST_CASE("a path stays unchanged if its resolved form is too long for an address") {
  Fixture places;
  const std::string link = places.root / "link";
  const std::string deep = places.root / std::string(100, 'd');
  std::filesystem::create_directory(deep);
  std::filesystem::create_directory_symlink(deep, link);
  const Place users(link + "/cccl-cached", link + "/cccl-cached/socket");
  places.search.runtime_directory = link;
  CHECK(*FindSocket(places.search) == link + "/cccl-cached/socket");
}

TEST_CASE("FindSocket returns the path of a socket that does not exist") {
  const TemporaryDirectory root;
  const SocketSearch search{"", "", "", root / "absent/socket", ""};
  CHECK(FindSocket(search).ok());
}

}  // namespace address_test
