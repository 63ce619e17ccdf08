// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/module_id.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace cccl_cache::standin {
namespace {

/// What cudafe++ writes for the one object of unnamed namespaces in the headers of CCCL. Its type
/// is an empty class, so that it may be merged.
constexpr std::string_view kIgnore = "constexpr inline __ignore_t ignore{};";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Returns whether the block that begins with the text, behind its brace, declares nothing. Its
/// names have external linkage, because cudafe++ gives the unnamed namespace a name.
bool IsEmpty(std::string_view text) {
  int depth = 1;
  while (depth > 0) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() == text.size()) return false;  // the block has no end
    text.remove_prefix(line.size() + 1);
    if (line.starts_with('#') || line.starts_with(kIgnore)) continue;
    for (const char c : line) {
      if (c == '{') ++depth;
      if (c == '}' && --depth == 0) return true;
      if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != '{' && c != '}') return false;
    }
  }
  return true;
}

}  // namespace

bool HasProcessNumber(std::string_view id) {
  const size_t last = id.rfind('_');
  return last == std::string_view::npos || std::ranges::all_of(id.substr(last + 1), IsDigit);
}

bool IsLocal(std::string_view id, std::string_view code) {
  const std::string name = std::string("namespace _GLOBAL__N_").append(id);
  for (size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    const size_t begin = code.find('{', at);
    if (begin == std::string_view::npos || !IsEmpty(code.substr(begin + 1))) return false;
  }
  return true;
}

}  // namespace cccl_cache::standin
