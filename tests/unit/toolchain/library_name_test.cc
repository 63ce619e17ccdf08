// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/toolchain/finder.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

using cccl_cache::daemon::LibrariesIn;
using cccl_cache::daemon::LibraryName;

TEST_CASE("a library's name gives its numbers") {
  CHECK(LibraryName::Parse("libnvrtc.so.13", "libnvrtc")->numbers == std::vector{13});
  CHECK(LibraryName::Parse("libnvrtc.so.12.4.127", "libnvrtc")->numbers == std::vector{12, 4, 127});
  CHECK(LibraryName::Parse("libnvvm.so", "libnvvm")->numbers.empty());
}

TEST_CASE("other variants of a library are not that library") {
  for (const char* name :
       {"libnvrtc.alt.so.13", "libnvrtc_static.a", "libnvrtc-builtins.so.13.0", "libnvrtc.so.13a",
        "libnvrtc.so.", "libnvrtc.so13", "libnvrtc.so.99999999999999", "libnvrtc.so.-1",
        "libnvrtc.so.13.debug", "nvrtc.so.13", ""}) {
    CAPTURE(name);
    CHECK_FALSE(LibraryName::Parse(name, "libnvrtc"));
  }
}

TEST_CASE("the soname comes before the full name of a library") {
  const cccl_cache::daemon::TempTree tree;
  tree.Write("lib/libnvrtc.so.12.4.127", "");
  tree.Write("lib/libnvrtc.so.12", "");
  tree.Write("lib/libnvrtc.so.11.2", "");
  const auto libraries = LibrariesIn(tree.Path("lib"), "libnvrtc");
  REQUIRE(libraries.size() == 3);
  CHECK(libraries[0].file == "libnvrtc.so.12");
  CHECK(libraries[1].file == "libnvrtc.so.11.2");
}

TEST_CASE("a directory that does not exist holds no libraries") {
  CHECK(LibrariesIn("/nonexistent", "libnvrtc").empty());
}
