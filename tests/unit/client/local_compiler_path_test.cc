// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "client/src/calls/local_compiler.h"
#include "tests/support/temporary_directory.h"

using cccl_cache::FindLocalCompiler;

TEST_CASE("a compiler that is named is that one, if it can be run") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("compiler", "");
  chmod(path.c_str(), 0700);
  CHECK(*FindLocalCompiler(path) == path);
}

TEST_CASE("a compiler that is named and is not there is missing, and no other is taken") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const auto found = FindLocalCompiler(directory / "absent");
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().status == CCCL_CACHE_UNAVAILABLE);
  CHECK(found.error().message == "cccl-cache-compile is missing (looked for " +
                                     directory / "absent" + "): install it with the library");
}

TEST_CASE("without a name it is looked for around the library, and where is said") {
  const auto found = FindLocalCompiler("");
  // This program stands in no installation; a build beside it may.
  if (found.ok()) {
    CHECK(found->find("cccl-cache-compile") != std::string::npos);
  } else {
    CHECK(found.error().message.find("(looked for /") != std::string::npos);
    CHECK(found.error().message.find(", /") != std::string::npos);
  }
}
