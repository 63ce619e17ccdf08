// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/source_scan.h"

#include <cctype>
#include <span>
#include <string>

namespace cccl_cached {
namespace {

bool IsIdentifierCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

bool HasIdentifier(std::string_view text, std::string_view identifier) {
  for (size_t at = text.find(identifier); at != text.npos; at = text.find(identifier, at + 1)) {
    const size_t end = at + identifier.size();
    const bool begins = at == 0 || !IsIdentifierCharacter(text[at - 1]);
    const bool ends = end == text.size() || !IsIdentifierCharacter(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

// A backslash before a newline joins two lines, also inside an identifier.
std::string JoinLines(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  while (true) {
    const size_t at = text.find('\\');
    joined.append(text.substr(0, at));
    if (at == text.npos) return joined;
    text.remove_prefix(at + 1);
    const size_t skip = text.starts_with('\n') ? 1 : text.starts_with("\r\n") ? 2 : 0;
    if (skip == 0) joined.push_back('\\');
    text.remove_prefix(skip);
  }
}

std::string_view FindFirst(std::string_view text, std::span<const std::string_view> identifiers) {
  const bool spliced = text.find("\\\n") != text.npos || text.find("\\\r\n") != text.npos;
  const std::string joined = spliced ? JoinLines(text) : std::string();
  if (spliced) text = joined;
  for (std::string_view identifier : identifiers) {
    if (HasIdentifier(text, identifier)) return identifier;
  }
  return {};
}

constexpr std::string_view kTimeTokens[] = {"__DATE__", "__TIME__", "__TIMESTAMP__"};
constexpr std::string_view kPathTokens[] = {"__FILE__", "__builtin_FILE", "__BASE_FILE__",
                                            "source_location", "assert"};

}  // namespace

std::string_view FindTimeToken(std::string_view text) { return FindFirst(text, kTimeTokens); }

bool HasPathToken(std::string_view text) { return !FindFirst(text, kPathTokens).empty(); }

}  // namespace cccl_cached
