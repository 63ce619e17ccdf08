// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "daemon/files/host_files.h"
#include "tests/unit/files/file_tree.h"

namespace host_file_access_test {

using namespace cccl_cache::daemon;
using cccl_cache::Sha256;

namespace {

Peer PeerOf(uid_t uid, FileReach reach = FileReach::kEverybodys) {
  return {.uid = uid, .gid = uid, .groups = {}, .pid = 1, .reach = reach};
}
Peer Daemons() { return PeerOf(geteuid(), FileReach::kDaemons); }

}  // namespace

constexpr cccl_cache::FilesView kView{1, 2, 3};

TEST_CASE("only a peer with a proof of the daemon's rights reads the daemon's files") {
  FileTree tree;
  tree.Write("include/a.h", "closed");
  tree.Mode("include/a.h", 0600);
  HostFileAccess access({.own_places = {}, .own_uid = geteuid(), .own_view = kView});
  const RootDirectories directories{{tree.Path("include")}, "", kView};
  CHECK(access.Of(Daemons(), directories)->Look({0, "a.h"})->digest == Sha256("closed"));
  for (const uid_t uid : {geteuid(), geteuid() + 1}) {
    CHECK(ErrorOf(access.Of(PeerOf(uid), directories)->Look({0, "a.h"})).code ==
          ErrorCode::kFilesNeeded);
  }
}

TEST_CASE("without a proof, only peers of the daemon's uid read its world-readable files") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  const bool root = geteuid() == 0;  // root can change the owner
  const uid_t service = root ? 54320 : geteuid();
  if (root) REQUIRE(chown(tree.Path("include/a.h").c_str(), service, service) == 0);
  HostFileAccess access({.own_places = {}, .own_uid = service, .own_view = kView});
  const RootDirectories directories{{tree.Path("include")}, "", kView};
  CHECK(access.Of(PeerOf(service), directories)->Look({0, "a.h"}).ok());
  CHECK(ErrorOf(access.Of(PeerOf(service + 1), directories)->Look({0, "a.h"})).code ==
        ErrorCode::kFilesNeeded);
}

TEST_CASE("no file is opened for a peer without local files, whatever view it claims") {
  FileTree tree;
  tree.Write("include/a.h", "open");
  HostFileAccess access({.own_places = {}, .own_uid = geteuid() + 1, .own_view = kView});
  const RootDirectories directories{{tree.Path("include")}, "", kView};
  CHECK(access.Of(PeerOf(geteuid()), directories)->Look({0, "a.h"}).ok());
  CHECK(
      ErrorOf(access.Of(PeerOf(geteuid(), FileReach::kNone), directories)->Look({0, "a.h"})).code ==
      ErrorCode::kFilesNeeded);
}

TEST_CASE("a client with another view of files, or without one, must send its files") {
  FileTree tree;
  tree.Write("include/a.h", "text");
  HostFileAccess access({.own_places = {}, .own_uid = geteuid(), .own_view = kView});
  HostFileAccess lost({.own_places = {}, .own_uid = geteuid(), .own_view = std::nullopt});
  const auto look = [&](HostFileAccess& by, std::optional<cccl_cache::FilesView> view) {
    return by.Of(Daemons(), {{tree.Path("include")}, "", view})->Look({0, "a.h"});
  };
  CHECK(look(access, kView)->digest == Sha256("text"));
  for (const auto& other : {cccl_cache::FilesView{9, 2, 3}, {1, 9, 3}, {1, 2, 9}, {1, 2, 3, 9}}) {
    CHECK(ErrorOf(look(access, other)).code == ErrorCode::kFilesNeeded);
  }
  CHECK(ErrorOf(look(access, std::nullopt)).code == ErrorCode::kFilesNeeded);
  CHECK(ErrorOf(look(lost, std::nullopt)).code == ErrorCode::kFilesNeeded);
}

TEST_CASE("the daemon's own directories and files are refused, under any name") {
  FileTree tree;
  tree.Write("state/a.h", "secret");
  tree.Write("include/key", "secret");
  tree.Link("include/link", "key");
  HostFileAccess access({.own_places = {tree.Path("state"), tree.Path("include/key")},
                         .own_uid = geteuid(),
                         .own_view = kView});
  const auto files = access.Of(Daemons(), {{tree.Path("state")}, "", kView});
  CHECK(ErrorOf(files->Look({0, "a.h"})).code == ErrorCode::kDenied);
  const auto beside = access.Of(Daemons(), {{tree.Path("include")}, "", kView});
  for (const char* name : {"key", "link"}) {
    CHECK(ErrorOf(beside->Look({0, name})).code == ErrorCode::kDenied);
  }
}

TEST_CASE("builds on several threads look at the same files") {
  FileTree tree;
  for (int i = 0; i < 20; ++i) tree.Write("include/" + std::to_string(i), std::to_string(i));
  HostFileAccess access({.own_places = {}, .own_uid = geteuid(), .own_view = kView});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, uid = geteuid() + static_cast<uid_t>(thread % 2)] {
      for (int round = 0; round < 50; ++round) {
        const auto files = access.Of(uid == geteuid() ? Daemons() : PeerOf(uid),
                                     {{tree.Path("include")}, "", kView});
        for (int i = 0; i < 20; ++i) {
          const Result<SeenFile> seen = files->Look({0, std::to_string(i)});
          // A service's own files are not given to strangers.
          if (!seen.ok() && uid != geteuid()) continue;
          if (seen->digest != Sha256(std::to_string(i))) std::abort();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace host_file_access_test
