// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/worker/files/paths.h"

using namespace cccl_cache::daemon;

TEST_CASE("a path without dots keeps what only the kernel can resolve") {
  CHECK(WithoutDots("/a//b/./c/") == "/a/b/c");
  CHECK(WithoutDots("/a/../b") == "/a/../b");
  CHECK(WithoutDots("/") == "/");
  CHECK(WithoutDots("/.") == "/");
}

TEST_CASE("a normal path goes up where its letters say so, but not above the root") {
  CHECK(LexicallyNormal("/a/b/../c") == "/a/c");
  CHECK(LexicallyNormal("/a/../../..") == "/");
  CHECK(LexicallyNormal("/../etc/passwd") == "/etc/passwd");
  CHECK(LexicallyNormal("/a/..b/...") == "/a/..b/...");
}
