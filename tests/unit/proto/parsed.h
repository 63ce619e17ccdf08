// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/options/options.h"

namespace cccl_cache {

using Texts = std::vector<std::string>;

/// Returns the parsed options. The test fails if an option is refused.
inline std::vector<ParsedOption> Parsed(BuildKind kind, const Texts& options) {
  auto result = ParseOptions(kind, options);
  if (const auto* refused = std::get_if<RefusedOption>(&result)) {
    FAIL("refused: " << refused->option << ": " << refused->reason);
  }
  return std::get<std::vector<ParsedOption>>(std::move(result));
}

/// Returns the arguments for the compiler.
inline Texts Canonical(BuildKind kind, const Texts& options) {
  Texts canonical;
  for (const ParsedOption& option : Parsed(kind, options)) canonical.push_back(option.canonical);
  return canonical;
}

/// Returns the refused option, or "". A refusal without a reason fails the test.
inline std::string Refused(BuildKind kind, const Texts& options) {
  const auto result = ParseOptions(kind, options);
  const auto* refused = std::get_if<RefusedOption>(&result);
  if (refused == nullptr) return {};
  REQUIRE_FALSE(refused->reason.empty());
  return refused->option;
}

}  // namespace cccl_cache
