// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "daemon/toolchain/identity.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

using namespace cccl_cache::daemon;
using cccl_cache::Sha256;

namespace {

SurveyedFile Surveyed(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return {"name", path, FileStamp::Of(status)};
}

}  // namespace

TEST_CASE("a file's digest is that of all its bytes") {
  TempTree tree;
  tree.Write("empty", "");
  tree.Write("small", "abc");
  const std::string large((3 << 20) + 7, 'x');
  tree.Write("large", large);
  CHECK(DigestOfFile(Surveyed(tree.Path("empty")), {}) == Sha256(""));
  CHECK(DigestOfFile(Surveyed(tree.Path("small")), {}) == Sha256("abc"));
  CHECK(DigestOfFile(Surveyed(tree.Path("large")), {}) == Sha256(large));
}

TEST_CASE("a file that is another than was surveyed has no digest") {
  TempTree tree;
  tree.Write("file", "abc");
  const SurveyedFile file = Surveyed(tree.Path("file"));
  SECTION("gone") { tree.Remove("file"); }
  SECTION("longer") { tree.Write("file", "abcd"); }
  SECTION("replaced") {
    tree.Write("new", "abc");
    tree.Rename("new", "file");
  }
  SECTION("a link to the same") {
    tree.Rename("file", "moved");
    tree.Link("file", "moved");
  }
  CHECK_FALSE(DigestOfFile(file, {}));
}

TEST_CASE("what can't be read as a file has no digest") {
  TempTree tree;
  tree.Directory("directory");
  CHECK_FALSE(DigestOfFile(Surveyed(tree.Path("directory")), {}));
  REQUIRE(mkfifo(tree.Path("fifo").c_str(), 0600) == 0);
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(DigestOfFile(Surveyed(tree.Path("fifo")), stop.get_token()));
}

TEST_CASE("who is told to stop reads no further") {
  TempTree tree;
  tree.Write("file", "abc");
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(DigestOfFile(Surveyed(tree.Path("file")), stop.get_token()));
}
