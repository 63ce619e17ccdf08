// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cli/build_options.h"
#include "tests/unit/cli/said.h"

using cccl_cache::BuildOptions;
using cccl_cache::cli::ChooseToolchain;

namespace {

BuildOptions Chosen(const std::string& spec) {
  BuildOptions options;
  INFO(spec);
  CHECK(ChooseToolchain(spec, &options).ok());
  return options;
}

}  // namespace

TEST_CASE("a toolchain is named by major, version, or the beginning of its id") {
  CHECK(Chosen("13").toolchain_major == 13);
  CHECK(Chosen("12.9").toolchain_version == "12.9");
  CHECK(Chosen("12.9").toolchain_major == 0);
  CHECK(Chosen("0123abcd").toolchain_id == "0123abcd");
  CHECK(Chosen(std::string(64, 'f')).toolchain_id == std::string(64, 'f'));
  // Too long for a number, long enough for an id.
  CHECK(Chosen("12345678").toolchain_id == "12345678");
}

TEST_CASE("without a name the choice is the daemon's") {
  const BuildOptions options = Chosen("");
  CHECK(options.toolchain_major == 0);
  CHECK(options.toolchain_version.empty());
  CHECK(options.toolchain_id.empty());
}

TEST_CASE("what is none of these is refused with what would be one") {
  for (const std::string& spec :
       {std::string("newest"), std::string("12."), std::string(".9"), std::string("12.9.1"),
        std::string("0123abc"), std::string("0123ABCD"), std::string(65, 'a'), std::string("-1"),
        std::string("1234.5")}) {
    INFO(spec);
    BuildOptions options;
    const auto chosen = ChooseToolchain(spec, &options);
    REQUIRE_FALSE(chosen.ok());
    CHECK(chosen.error().status == CCCL_CACHE_INVALID_REQUEST);
    CHECK(Has(chosen.error().message, "--toolchain " + spec + " is neither a major (13)"));
  }
}
