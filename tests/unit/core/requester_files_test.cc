// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/requester_files.h"

#include <catch2/catch.hpp>

namespace cccl_cache::daemon {
namespace {

const RootDirectories kDirectories{{"/src", "/include/", "", "relative"}, "/place"};

TEST_CASE("a name's path is that of its root and what is below it") {
  CHECK(kDirectories.PathOf({0, "a.h"}) == "/src/a.h");
  CHECK(kDirectories.PathOf({1, "deep/a.h"}) == "/include/deep/a.h");
  CHECK(kDirectories.PathOf({0, ""}) == "/src");
  CHECK(kDirectories.PathOf({0, "../a.h"}) == "/src/../a.h");
  CHECK(kDirectories.PathOf({kWorkingDirectoryRoot, "a.h"}) == "/place/a.h");
  CHECK(kDirectories.PathOf({kAbsoluteRoot, "/opt/a.h"}) == "/opt/a.h");
}

TEST_CASE("a name lies nowhere if its root does, or is none") {
  CHECK(kDirectories.PathOf({2, "a.h"}).empty());
  CHECK(kDirectories.PathOf({3, "a.h"}).empty());
  CHECK(kDirectories.PathOf({4, "a.h"}).empty());
  CHECK(kDirectories.PathOf({kAbsoluteRoot, "opt/a.h"}).empty());
  CHECK(kDirectories.PathOf({kAbsoluteRoot, ""}).empty());
  CHECK(RootDirectories().PathOf({kWorkingDirectoryRoot, "a.h"}).empty());
}

}  // namespace
}  // namespace cccl_cache::daemon
