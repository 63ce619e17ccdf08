// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "proto/option_rules.h"

/// What the three tables share. Only they and option_rules.cc include this.
namespace cccl_cache {

/// A string literal as a template argument.
template <size_t size>
struct SpellingText {
  char text[size];
  consteval SpellingText(const char (&literal)[size]) { std::copy_n(literal, size, text); }
  [[nodiscard]] constexpr std::string_view View() const { return {text, size - 1}; }
};

/// All spellings of one option in static storage, so that a table reads as one row an option.
template <SpellingText... spelling>
inline constexpr std::array<std::string_view, sizeof...(spelling)> kSpellings{spelling.View()...};

[[nodiscard]] std::span<const OptionRule> NvrtcOptionRules();
[[nodiscard]] std::span<const OptionRule> NvJitLinkOptionRules();
[[nodiscard]] std::span<const OptionRule> NvvmOptionRules();

}  // namespace cccl_cache
