// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <catch2/catch.hpp>

#include "base/file_descriptor.h"
#include "daemon/files/access_rules.h"
#include "tests/unit/files/file_tree.h"

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;

namespace {

FileDescriptor Open(const std::string& path, int flags) {
  FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

}  // namespace

TEST_CASE("an access list of a file or directory is seen through every descriptor of it") {
  FileTree tree;
  const std::string name = GENERATE("file", "directory");
  tree.Write("file", "");
  tree.Directory("directory");
  const int flags = GENERATE(O_RDONLY, O_PATH);
  CHECK_FALSE(HasAccessList(Open(tree.Path(name), flags).get()));
  tree.ShutOut(name, 54321);
  CHECK(HasAccessList(Open(tree.Path(name), flags).get()));
}

TEST_CASE("a file system that has no access lists has none for its files") {
  CHECK_FALSE(HasAccessList(Open("/proc/self/status", O_PATH).get()));
}

TEST_CASE("where it can't be found out there may be an access list") { CHECK(HasAccessList(-1)); }
