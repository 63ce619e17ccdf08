// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/files/access_rules.h"
#include "tests/unit/files/file_tree.h"

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

bool CanOpen(const std::string& path) {
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid();
}

}  // namespace

TEST_CASE("root opens as a stranger would, on this thread and for a while only") {
  FileTree tree;
  tree.Write("open.h", "");
  tree.Write("closed.h", "");
  tree.Mode("closed.h", 0600);
  const std::string closed = tree.Path("closed.h");
  {
    const StrangerRights rights(true);
    CHECK(CanOpen(closed) == (geteuid() != 0));  // without root's rights nothing changes
    CHECK(CanOpen(tree.Path("open.h")));
  }
  CHECK(CanOpen(closed));
}

TEST_CASE("other threads keep their rights") {
  FileTree tree;
  tree.Write("closed.h", "");
  tree.Mode("closed.h", 0600);
  std::atomic<int> step = 0;
  std::thread stranger([&] {
    const StrangerRights rights(true);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  CHECK(CanOpen(tree.Path("closed.h")));
  step = 2;
  stranger.join();
}

TEST_CASE("groups are given up and taken back") {
  const auto groups = [] {
    std::vector<gid_t> all(static_cast<size_t>(getgroups(0, nullptr)));
    (void)getgroups(static_cast<int>(all.size()), all.data());
    return all;
  };
  const std::vector<gid_t> before = groups();
  {
    const StrangerRights rights(true);
    if (geteuid() == 0) CHECK(groups().empty());
  }
  CHECK(groups() == before);
}

TEST_CASE("nothing changes if it is not wanted") {
  FileTree tree;
  tree.Write("closed.h", "");
  tree.Mode("closed.h", 0600);
  const StrangerRights rights(false);
  CHECK(CanOpen(tree.Path("closed.h")));
}
