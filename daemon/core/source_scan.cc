// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/source_scan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>

namespace cccl_cached {
namespace {

constexpr std::array<bool, 256> kIdentifierCharacters = [] {
  std::array<bool, 256> table{};
  for (int c = 0; c < 256; ++c) {
    table[static_cast<size_t>(c)] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                    (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
  }
  return table;
}();

bool IsIdentifierCharacter(char c) { return kIdentifierCharacters[static_cast<uint8_t>(c)]; }

// The next whole identifier at or after `at`, which moves behind it; empty at the end.
std::string_view NextIdentifier(std::string_view text, size_t& at) {
  while (at < text.size() && !IsIdentifierCharacter(text[at])) ++at;
  const size_t begin = at;
  while (at < text.size() && IsIdentifierCharacter(text[at])) ++at;
  return text.substr(begin, at - begin);
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

/// The lines of a text, asked for in ascending order, each looked at once.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) { Begin(0); }

  /// Whether the line that holds this place is a #define.
  bool IsDefine(size_t at) {
    while (end_ < at) Begin(end_ + 1);
    return is_define_;
  }

 private:
  void Begin(size_t at) {
    end_ = text_.find('\n', at);
    at = NotBlank(at);
    is_define_ = at < text_.size() && text_[at] == '#' &&
                 text_.substr(NotBlank(at + 1)).starts_with("define");
  }
  [[nodiscard]] size_t NotBlank(size_t at) const {
    return std::min(text_.find_first_not_of(" \t", at), text_.size());
  }

  std::string_view text_;
  size_t end_ = 0;  // of the line; npos: the text's
  bool is_define_ = false;
};

constexpr std::string_view kTimeTokens[] = {"__DATE__", "__TIME__", "__TIMESTAMP__"};
constexpr std::string_view kBaseNameToken = "__BASE_FILE__";
constexpr std::string_view kPathTokens[] = {"__FILE__", "__builtin_FILE", kBaseNameToken,
                                            "source_location", "assert"};
constexpr std::string_view kFunctionToken = "__PRETTY_FUNCTION__";
constexpr size_t kShortest = std::string_view("assert").size();
constexpr size_t kLongest = kFunctionToken.size();

}  // namespace

TextTraits ScanText(std::string_view text) {
  const bool spliced = text.find("\\\n") != text.npos || text.find("\\\r\n") != text.npos;
  const std::string joined = spliced ? JoinLines(text) : std::string();
  if (spliced) text = joined;
  TextTraits traits;
  Lines lines(text);
  size_t at = 0;
  for (std::string_view word = NextIdentifier(text, at); !word.empty();
       word = NextIdentifier(text, at)) {
    if (word.size() < kShortest || word.size() > kLongest) continue;
    if (!traits.path_token)
      traits.path_token = std::ranges::find(kPathTokens, word) != std::end(kPathTokens);
    traits.base_name_token = traits.base_name_token || word == kBaseNameToken;
    if (word == kFunctionToken) {
      traits.function_token = true;
      traits.function_token_in_code =
          traits.function_token_in_code || !lines.IsDefine(at - word.size());
    }
    if (!traits.time_token.empty()) continue;
    const auto* const token = std::ranges::find(kTimeTokens, word);
    if (token != std::end(kTimeTokens)) traits.time_token = *token;
  }
  return traits;
}

}  // namespace cccl_cached
