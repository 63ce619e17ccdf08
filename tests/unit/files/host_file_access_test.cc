// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/host_file_access.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "tests/unit/files/file_tree.h"

using namespace cccl_cached;
using cccl_cache::Sha256;

namespace {

Peer PeerOf(uid_t uid) { return {.uid = uid, .gid = uid, .groups = {}, .pid = 1}; }

}  // namespace

TEST_CASE("the daemon's own user is told from others") {
  FileTree tree;
  tree.Write("include/a.h", "closed");
  tree.Mode("include/a.h", 0600);
  HostFileAccess access({.own_directories = {}, .own_uid = geteuid()});
  const RootDirectories directories{{tree.Path("include")}, ""};
  CHECK(access.Of(PeerOf(geteuid()), directories)->Look({0, "a.h"})->digest == Sha256("closed"));
  CHECK(ErrorOf(access.Of(PeerOf(geteuid() + 1), directories)->Look({0, "a.h"})).code ==
        ErrorCode::kFilesNeeded);
}

TEST_CASE("the daemon's own directories are refused") {
  FileTree tree;
  tree.Write("state/a.h", "secret");
  HostFileAccess access({.own_directories = {tree.Path("state")}, .own_uid = geteuid()});
  const auto files = access.Of(PeerOf(geteuid()), {{tree.Path("state")}, ""});
  CHECK(ErrorOf(files->Look({0, "a.h"})).code == ErrorCode::kDenied);
}

TEST_CASE("builds on several threads look at the same files") {
  FileTree tree;
  for (int i = 0; i < 20; ++i) tree.Write("include/" + std::to_string(i), std::to_string(i));
  HostFileAccess access({.own_directories = {}, .own_uid = geteuid()});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, uid = geteuid() + static_cast<uid_t>(thread % 2)] {
      for (int round = 0; round < 50; ++round) {
        const auto files = access.Of(PeerOf(uid), {{tree.Path("include")}, ""});
        for (int i = 0; i < 20; ++i) {
          const Result<SeenFile> seen = files->Look({0, std::to_string(i)});
          // A service's own files are not for strangers.
          if (!seen.ok() && uid != geteuid()) continue;
          if (seen->digest != Sha256(std::to_string(i))) std::abort();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
