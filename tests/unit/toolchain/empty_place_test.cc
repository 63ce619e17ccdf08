// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <catch2/catch.hpp>

#include "daemon/toolchain/finder.h"
#include "tests/support/root.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

using namespace cccl_cache::daemon;

namespace {

constexpr uid_t kStranger = 54321;

/// What a process of another user is told. This thread's own rights come back.
std::string ToldToStranger(const std::string& place) {
  REQUIRE(seteuid(kStranger) == 0);
  std::string told = WhyNothingFound(place);
  REQUIRE(seteuid(0) == 0);
  return told;
}

}  // namespace

TEST_CASE("a place without a toolchain is said to be missing, no directory or empty") {
  const TempTree tree;
  tree.Directory("cuda");
  tree.Write("cuda/file", "");
  CHECK(WhyNothingFound(tree.Path("cuda/absent")).starts_with("it does not exist: name a CUDA"));
  CHECK(WhyNothingFound(tree.Path("cuda/file")).starts_with("it is no directory: "));
  CHECK(WhyNothingFound(tree.Path("cuda/file/below")).starts_with("it can't be reached (Not a"));
  CHECK(WhyNothingFound(tree.Path("cuda")).starts_with("it holds no libnvrtc.so.N"));
}

TEST_CASE("a place that can't be entered is said to be so, with the directory and the user",
          "[root]") {
  RequireRoot();
  const TempTree tree;
  tree.Directory("home/cuda");
  tree.Mode("", 0755);
  const auto told = [&] { return ToldToStranger(tree.Path("home/cuda")); };
  const std::string who = "uid 54321, as which toolchains are looked for, may not ";
  CHECK(told().starts_with("it holds no"));
  tree.Mode("home/cuda", 0711);
  CHECK(told().starts_with(who + "list " + tree.Path("home/cuda") + ":"));
  tree.Mode("home/cuda", 0700);
  CHECK(told().starts_with(who + "enter " + tree.Path("home/cuda") + ":"));
  tree.Mode("home", 0700);
  CHECK(told().starts_with(who + "enter " + tree.Path("home") + ":"));
}
