// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/option_rules.h"

namespace {

using cccl_cache::BuildKind;
using cccl_cache::ParsedOption;

/// A canonical argument must be read back as what it is, else two requests of one meaning differ
/// or, worse, what was judged is not what the compiler is given.
void CheckCanonicalAgain(BuildKind kind, const std::vector<ParsedOption>& parsed) {
  std::vector<std::string> canonical;
  for (const ParsedOption& option : parsed) {
    if (option.rule == nullptr) continue;
    assert(option.rule->effect != cccl_cache::OptionEffect::kRefused);
    canonical.push_back(option.canonical);
  }
  const auto again = cccl_cache::ParseOptions(kind, canonical);
  const auto* reread = std::get_if<std::vector<ParsedOption>>(&again);
  assert(reread != nullptr);
  assert(reread->size() == canonical.size());
  for (size_t i = 0; i < canonical.size(); ++i) {
    assert((*reread)[i].rule != nullptr);
    assert((*reread)[i].canonical == canonical[i]);
  }
}

}  // namespace

/// The first byte picks the compiler, lines are its options.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const BuildKind kind = static_cast<BuildKind>(1 + data[0] % 3);
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  std::vector<std::string> options;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    options.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  const auto result = cccl_cache::ParseOptions(kind, options);
  if (const auto* refused = std::get_if<cccl_cache::RefusedOption>(&result)) {
    assert(!refused->reason.empty());
    return 0;
  }
  const auto& parsed = std::get<std::vector<ParsedOption>>(result);
  assert(parsed.size() <= options.size());
  CheckCanonicalAgain(kind, parsed);
  return 0;
}
