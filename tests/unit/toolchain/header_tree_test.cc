// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "daemon/toolchain/survey.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;

namespace {

using Files = std::map<std::string, std::string>;  // names and paths

struct Observer final : LookupObserver {
  void OnLookup(const std::string& directory, const std::string& name) override {
    looked_up.insert(directory + "/" + name);
  }
  void OnListing(const std::string& directory) override { listed.insert(directory); }

  std::set<std::string> looked_up;
  std::set<std::string> listed;
};

Status Walk(const TempTree& tree, const std::string& name, Files* files,
            LookupObserver* observer = nullptr) {
  TrustedPath directory{tree.Path(name), {}};
  return WalkHeaderTree(directory, geteuid(), observer,
                        [&](std::string below, std::string path, const struct stat& status) {
                          CHECK(S_ISREG(status.st_mode));
                          CHECK(files->emplace(std::move(below), std::move(path)).second);
                        });
}

Error ErrorOf(const TempTree& tree, const std::string& name) {
  Files files;
  const Status walked = Walk(tree, name, &files);
  REQUIRE_FALSE(walked.ok());
  return walked.error();
}

}  // namespace

TEST_CASE("all files below a directory are visited, under their names in it") {
  TempTree tree;
  tree.Write("include/a.h", "");
  tree.Write("include/cub/deep/b.h", "");
  tree.Write("include/__pycache__/c.pyc", "");
  REQUIRE(mkfifo(tree.Path("include/fifo").c_str(), 0600) == 0);
  Files files;
  Observer observer;
  REQUIRE(Walk(tree, "include", &files, &observer).ok());
  CHECK(files == Files{{"a.h", tree.Path("include/a.h")},
                       {"cub/deep/b.h", tree.Path("include/cub/deep/b.h")}});
  CHECK(observer.listed ==
        std::set{tree.Path("include"), tree.Path("include/cub"), tree.Path("include/cub/deep")});
}

TEST_CASE("what a link leads to counts under the link's name") {
  TempTree tree;
  tree.Write("elsewhere/b.h", "");
  tree.Link("include/a.h", "../elsewhere/b.h");
  tree.Link("include/deep", "../elsewhere");
  Files files;
  REQUIRE(Walk(tree, "include", &files).ok());
  CHECK(files ==
        Files{{"a.h", tree.Path("elsewhere/b.h")}, {"deep/b.h", tree.Path("elsewhere/b.h")}});
}

TEST_CASE("a link that leads nowhere is no header, and it is seen what would make it one") {
  TempTree tree;
  tree.Link("include/a.h", "../none");
  Files files;
  Observer observer;
  REQUIRE(Walk(tree, "include", &files, &observer).ok());
  CHECK(files.empty());
  CHECK(observer.looked_up.contains(tree.Path("none")));
}

TEST_CASE("one file or directory that others can write is enough to refuse the tree") {
  TempTree tree;
  tree.Write("include/a.h", "");
  tree.Write("include/cub/b.h", "");
  tree.Write("elsewhere/c.h", "");
  const std::string name = GENERATE("include/a.h", "include/cub", "elsewhere/c.h", "elsewhere");
  tree.Link("include/c.h", "../elsewhere/c.h");
  tree.Mode(name, 0777);
  const Error error = ErrorOf(tree, "include");
  CHECK(error.code == ErrorCode::kDenied);
  CHECK_THAT(error.message, Contains(tree.Path(name)) && Contains("chmod -R go-w"));
}

TEST_CASE("a tree that leads round in itself is too deep for headers") {
  TempTree tree;
  tree.Link("include/again", "../include");
  const Error error = ErrorOf(tree, "include");
  CHECK(error.code == ErrorCode::kDenied);
  CHECK_THAT(error.message, Contains("is this a directory of headers?"));
}

TEST_CASE("a directory that can't be listed is an error that names it") {
  TempTree tree;
  const Error error = ErrorOf(tree, "none");
  CHECK(error.code == ErrorCode::kUnavailable);
  CHECK_THAT(error.message, Contains(tree.Path("none") + ": No such file or directory"));
}
