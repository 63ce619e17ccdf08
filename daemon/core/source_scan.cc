// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/source_scan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include "daemon/core/roots.h"

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

// The text, or `joined`, which holds it then.
std::string_view WithoutSplices(std::string_view text, std::string* joined) {
  const bool spliced = text.find("\\\n") != text.npos || text.find("\\\r\n") != text.npos;
  if (!spliced) return text;
  *joined = JoinLines(text);
  return *joined;
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

constexpr std::string_view kTimeTokens[] = {shown_names::kDate, shown_names::kTime,
                                            shown_names::kTimestamp};
constexpr std::string_view kPathTokens[] = {shown_names::kFile, shown_names::kBuiltinFile,
                                            shown_names::kBaseFile, shown_names::kSourceLocation,
                                            shown_names::kAssert,
                                            // CCCL's macro, the only one that is a value with it.
                                            "_CCCL_BUILTIN_FILE"};
constexpr WordFilter kTokens = [] {
  WordFilter filter;
  for (const std::string_view token : kTimeTokens) filter.Add(token);
  for (const std::string_view token : kPathTokens) filter.Add(token);
  filter.Add(shown_names::kPrettyFunction);
  return filter;
}();

/// Whether a paste of the name is worth to be reckoned with. CUTLASS and CCCL, each as a whole,
/// hold what __DATE__ can be pasted together of: six or seven parts, two of them single letters.
bool IsLikely(const NameParts& parts, std::string_view name) {
  constexpr size_t kFewParts = 4;
  constexpr size_t kFewLetters = 1;
  const NameParts::Needed needed = parts.NeededFor(name);
  return needed.parts <= kFewParts || needed.letters <= kFewLetters;
}

bool IsPossible(const NameParts& parts, std::string_view name) {
  const NameParts::Needed needed = parts.NeededFor(name);
  // Any text has the letters. What is asserted shows as text, which is found in the output.
  if (name == shown_names::kAssert) return needed.letters == 0;
  return needed.parts != NameParts::kImpossible;
}

}  // namespace

TextTraits ScanText(std::string_view text) {
  std::string joined;
  text = WithoutSplices(text, &joined);
  TextTraits traits;
  // Slashes are many: memmem does not stop at each.
  traits.path_token =
      memmem(text.data(), text.size(), kCanonicalPrefix.data(), kCanonicalPrefix.size()) != nullptr;
  Lines lines(text);
  size_t at = 0;
  for (std::string_view word = NextIdentifier(text, at); !word.empty();
       word = NextIdentifier(text, at)) {
    traits.may_paste = traits.may_paste || NameParts::IsNeeded(word);
    if (!kTokens.MayHold(word)) continue;
    if (!traits.path_token)
      traits.path_token = std::ranges::find(kPathTokens, word) != std::end(kPathTokens);
    traits.base_name_token = traits.base_name_token || word == shown_names::kBaseFile;
    if (word == shown_names::kPrettyFunction) {
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

NameParts PartsIn(std::string_view text) {
  std::string joined;
  text = WithoutSplices(text, &joined);
  NameParts parts;
  size_t at = 0;
  for (std::string_view word = NextIdentifier(text, at); !word.empty();
       word = NextIdentifier(text, at)) {
    parts.Add(word);
  }
  return parts;
}

TextTraits PastedNames(const NameParts& parts) {
  const auto likely = [&](std::string_view name) { return IsLikely(parts, name); };
  const auto possible = [&](std::string_view name) { return IsPossible(parts, name); };
  TextTraits traits;
  const auto* const time = std::ranges::find_if(kTimeTokens, likely);
  if (time != std::end(kTimeTokens)) traits.time_token = *time;
  traits.path_token = std::ranges::any_of(kPathTokens, possible);
  traits.base_name_token = likely(shown_names::kBaseFile);
  traits.function_token = traits.function_token_in_code = likely(shown_names::kPrettyFunction);
  return traits;
}

}  // namespace cccl_cached
