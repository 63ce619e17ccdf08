// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/options/options.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::BuildKind;
using cccl_cache::OptionEffect;
using cccl_cache::ParsedOption;
using cccl_cache::ParseOptions;
using cccl_cache::RefusedOption;

/// Checks that the canonical arguments are parsed to the same options. Otherwise equal requests
/// would differ or, worse, the compiler would get options that were not checked.
void CheckCanonicalAgain(BuildKind kind, const std::vector<ParsedOption>& parsed) {
  std::vector<std::string> canonical;
  for (const ParsedOption& option : parsed) {
    assert(option.rule == nullptr || option.rule->effect != OptionEffect::kRefused);
    canonical.push_back(option.canonical);
  }
  const auto again = ParseOptions(kind, canonical);
  const auto* reread = std::get_if<std::vector<ParsedOption>>(&again);
  assert(reread != nullptr);
  assert(reread->size() == parsed.size());
  for (size_t i = 0; i < parsed.size(); ++i) {
    assert((*reread)[i].rule == parsed[i].rule);
    assert((*reread)[i].value == parsed[i].value);
    assert((*reread)[i].canonical == parsed[i].canonical);
  }
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

/// Returns every spelling of every option, alone and before others.
std::vector<std::string> cccl_cached_fuzz::Seeds() {
  std::vector<std::string> seeds = {
      std::string(1, '\0') +
      "-arch\nsm_90\n-I\n/a\n-I/b\n -std=c++20 \n-Xptxas\n--entry\n-Xptxas\nf\n-I"};
  for (const BuildKind kind : {BuildKind::kNvrtc, BuildKind::kLink, BuildKind::kNvvm}) {
    const std::string first(1, static_cast<char>(static_cast<int>(kind) - 1));
    for (const cccl_cache::OptionRule& rule : cccl_cache::OptionRules(kind)) {
      for (const std::string_view spelling : rule.spellings) {
        seeds.push_back(first + std::string(spelling) + "\n1\n" + std::string(spelling) + "=1");
      }
    }
  }
  return seeds;
}

/// The first byte selects the compiler; each line is an option.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto kind = static_cast<BuildKind>(1 + data[0] % 3);
  std::vector<std::string> options = Lines({reinterpret_cast<const char*>(data + 1), size - 1});
  const auto result = ParseOptions(kind, options);
  if (const auto* refused = std::get_if<RefusedOption>(&result)) {
    assert(!refused->reason.empty());
    // A refused option stays refused if more options follow.
    options.emplace_back("--restrict");
    const auto longer = ParseOptions(kind, options);
    assert(std::holds_alternative<RefusedOption>(longer));
    return 0;
  }
  const auto& parsed = std::get<std::vector<ParsedOption>>(result);
  assert(parsed.size() <= options.size());
  CheckCanonicalAgain(kind, parsed);
  return 0;
}
