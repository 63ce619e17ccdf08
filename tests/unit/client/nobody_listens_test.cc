// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cerrno>

#include "client/src/transport/address.h"
#include "tests/support/temporary_directory.h"

using cccl_cache::DaemonUnreachable;
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

TEST_CASE("who looks for a daemon in vain is told which socket was tried and who named it") {
  const TemporaryDirectory directory;
  SocketSearch search;
  search.named_path = directory / "named";
  search.runtime_directory = directory.path();
  search.system_path = directory / "system";
  CHECK(Has(Told(search, search.named_path), directory / "named" + ", which CCCL_CACHE_SOCKET"));
  CHECK(Has(Told(search, search.system_path), directory / "system" + ", the default"));
  CHECK(Has(Told(search, search.UsersPath()), "/cccl-cached/socket, this user's own"));
  CHECK(Has(Told(search, directory / "other"), ", which --socket or the program names"));
  CHECK(Has(Told(search, ""), "the program names"));
}

TEST_CASE("who looks for a daemon in vain is told what is there instead, and how to start one") {
  const TemporaryDirectory directory;
  SocketSearch search;
  search.system_path = directory / "absent";
  const std::string file = directory.Write("file", "");
  CHECK(Has(Told(search, directory.path(), ECONNREFUSED), "it is a directory and no socket"));
  CHECK(Has(Told(search, file, ECONNREFUSED), "it is a file and no socket"));
  const std::string told = Told(search, search.system_path);
  CHECK(Has(told, "No such file or directory"));
  CHECK(Has(told, "systemctl start cccl-cached; "));
  CHECK(Has(told, "systemctl --user start cccl-cached"));
}

TEST_CASE(
    "a path that the user named is to be checked, since a started service listens elsewhere") {
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

TEST_CASE("a socket may be named as gRPC spells it") {
  for (const char* named : {"unix:///tmp/a/socket", "unix:/tmp/a/socket", "/tmp/a/socket"}) {
    CHECK(SocketSearch::FromEnvironment(named).explicit_path == "/tmp/a/socket");
  }
  CHECK(SocketSearch::FromEnvironment("unix:a").explicit_path == "unix:a");
}
