// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/proto/parsed.h"

namespace cccl_cache::nvjitlink_options_test {
namespace {

constexpr BuildKind kLink = BuildKind::kLink;

TEST_CASE("the options that every linking client passes are unchanged") {
  const Texts options{"-arch=sm_90",
                      "-lto",
                      "-O3",
                      "-ptx",
                      "-ftz=1",
                      "-kernels-used=k",
                      "-kernels-used=l",
                      "-Xptxas=-v",
                      "-split-compile=2",
                      "-lineinfo"};
  REQUIRE(Canonical(kLink, options) == options);
}

TEST_CASE("link-time optimization has two spellings") {
  REQUIRE(Canonical(kLink, {"-dlto"}) == Texts{"-lto"});
}

TEST_CASE("nvJitLink takes no value from the next argument, and no white space") {
  for (const Texts& options : {Texts{"-arch", "sm_90"}, Texts{" -lto"}, Texts{"--arch=sm_90"}}) {
    for (const ParsedOption& option : Parsed(kLink, options)) REQUIRE(option.rule == nullptr);
    REQUIRE(Canonical(kLink, options) == options);
  }
  REQUIRE(Canonical(kLink, {"-arch=sm_90 "}) == Texts{"-arch=sm_90 "});
}

TEST_CASE("a link with -no-cache, or one that prints its times, is not cached") {
  for (const char* option : {"-no-cache", "--no-cache", "-no-cache=1", "-time", "-time=/tmp/t"}) {
    REQUIRE(Parsed(kLink, {option})[0].rule->effect == OptionEffect::kUncacheable);
  }
}

TEST_CASE("options by which nvJitLink reads or writes files are refused") {
  REQUIRE(Refused(kLink, {"-uidx=/etc/hostname"}) == "-uidx=/etc/hostname");
  REQUIRE(Refused(kLink, {"-Xptxas=/etc/hostname"}) == "-Xptxas=/etc/hostname");
  REQUIRE(Refused(kLink, {"-Xptxas=-optf", "-Xptxas=/f"}) == "-Xptxas=-optf");
  REQUIRE(Refused(kLink, {"-Xptxas=--options-file=/f"}) == "-Xptxas=--options-file=/f");
  REQUIRE(Refused(kLink, {"-Xnvvm=-Xopt", "-Xnvvm=-info-output-file=/f"}) ==
          "-Xnvvm=-info-output-file=/f");
}

TEST_CASE("debug information of a link shows paths") {
  REQUIRE(Parsed(kLink, {"-g"})[0].rule->shows_paths);
  REQUIRE(Parsed(kLink, {"-lineinfo"})[0].rule->shows_paths);
}

}  // namespace
}  // namespace cccl_cache::nvjitlink_options_test
