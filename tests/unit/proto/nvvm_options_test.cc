// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/proto/parsed.h"

namespace cccl_cache::nvvm_options_test {
namespace {

constexpr BuildKind kNvvm = BuildKind::kNvvm;

TEST_CASE("libNVVM's documented options are unchanged") {
  const Texts options{"-arch=compute_90", "-g",          "-opt=0", "-ftz=1",
                      "-prec-sqrt=0",     "-prec-div=0", "-fma=0", "-jump-table-density=3",
                      "-gen-lto"};
  REQUIRE(Canonical(kNvvm, options) == options);
  for (const ParsedOption& option : Parsed(kNvvm, options)) REQUIRE(option.rule != nullptr);
}

TEST_CASE("white space around an argument of libNVVM is removed") {
  REQUIRE(Canonical(kNvvm, {" -arch=compute_90 "}) == Texts{"-arch=compute_90"});
}

TEST_CASE("debug information of an NVVM module shows paths") {
  REQUIRE(Parsed(kNvvm, {"-g"})[0].rule->shows_paths);
  REQUIRE(Parsed(kNvvm, {"-generate-line-info"})[0].rule->shows_paths);
}

TEST_CASE("LLVM's own options are refused: they write files") {
  REQUIRE(Refused(kNvvm, {"-Xopt", "-info-output-file=/f"}) == "-Xopt");
  REQUIRE(Refused(kNvvm, {" -Xllc ", "-stats"}) == " -Xllc ");
  REQUIRE(Refused(kNvvm, {"-Xlnk", "-stats"}) == "-Xlnk");
}

}  // namespace
}  // namespace cccl_cache::nvvm_options_test
