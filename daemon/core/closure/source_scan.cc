// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/source_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>

#include "daemon/core/model/compiler.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kBlock = 64;

/// Returns one bit for each of kBlock characters. It is 1 if the character can be part of an
/// identifier. Has no branches.
uint64_t Classify(const char* block) {
  using Bytes [[gnu::vector_size(16)]] = uint8_t;
  static_assert(std::endian::native == std::endian::little);
  uint64_t found = 0;
  for (size_t i = 0; i < kBlock; i += sizeof(Bytes)) {
    Bytes c;
    std::memcpy(&c, block + i, sizeof(c));
    const auto letter = static_cast<Bytes>(((c | 0x20) - 'a') < 26);
    const auto digit = static_cast<Bytes>((c - '0') < 10);
    const auto sign = static_cast<Bytes>(c == '_');
    const Bytes belongs = (letter | digit | sign) & 1;
    std::array<uint64_t, sizeof(Bytes) / 8> eights;
    std::memcpy(eights.data(), &belongs, sizeof(belongs));
    // The multiplication moves the lowest bit of byte k to bit 56 + k.
    for (size_t k = 0; k < eights.size(); ++k) {
      found |= (eights[k] * 0x0102'0408'1020'4080 >> 56) << (i + 8 * k);
    }
  }
  return found;
}

/// Calls `take` with each identifier. Works in blocks of characters: a loop over single characters
/// has two unpredictable branches for each word, which took most of the time to plan a hit.
template <typename Take>
void ForEachIdentifier(std::string_view text, Take take) {
  size_t begin = 0;
  uint64_t inside = 0;  // 1: the identifier at `begin` continues from the block before
  for (size_t at = 0; at < text.size(); at += kBlock) {
    const size_t size = std::min(text.size() - at, kBlock);
    std::array<char, kBlock> last;
    const char* block = text.data() + at;
    if (size < kBlock) {
      last.fill(' ');
      block = static_cast<const char*>(std::memcpy(last.data(), block, size));
    }
    const uint64_t belongs = Classify(block);
    uint64_t edges = belongs ^ (belongs << 1 | inside);
    const auto next_edge = [&] {
      const size_t edge = at + static_cast<size_t>(std::countr_zero(edges));
      edges &= edges - 1;
      return edge;
    };
    while (edges != 0) {
      if (inside == 0) begin = next_edge();
      inside = edges == 0 ? 1 : 0;
      if (inside == 0) take(std::string_view(text.data() + begin, next_edge() - begin));
    }
  }
  if (inside != 0) take(text.substr(begin));
}

// Joins spliced lines: removes each backslash before a newline, with the newline. Such a backslash
// may be inside an identifier.
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

/// Finds the line of a position. Positions must be passed in ascending order, so that the text is
/// read only once.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) { Begin(0); }

  /// Returns whether the line at this position is a #define.
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
  size_t end_ = 0;  // position of the newline at the end of the line; npos in the last line
  bool is_define_ = false;
};

constexpr std::string_view kTimeTokens[] = {shown_names::kDate, shown_names::kTime,
                                            shown_names::kTimestamp};
template <typename Words>
bool Holds(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

constexpr auto kPathNames = std::to_array<std::string_view>(
    {shown_names::kFile, shown_names::kBuiltinFile, shown_names::kBaseFile,
     shown_names::kSourceLocation, shown_names::kAssert, shown_names::kAssertFail,
     shown_names::kHostAssertFail});

/// The identifier that every canonical name contains.
constexpr std::string_view kCanonicalWord =
    kCanonicalPrefix.substr(1, kCanonicalPrefix.find('-') - 1);
static_assert(kCanonicalPrefix.starts_with('/') && kCanonicalPrefix.find('-') > 1);

/// A filter for all words that ScanText() looks for.
constexpr WordFilter kWatched = [] {
  WordFilter filter;
  for (const std::string_view token : kTimeTokens) filter.Add(token);
  for (const std::string_view word : shown_names::kPathWords) filter.Add(word);
  for (const std::string_view word : shown_names::kAssertions) filter.Add(word);
  filter.Add(shown_names::kPrettyFunction);
  filter.Add(kCanonicalWord);
  NameParts::AddNeeded(filter);
  return filter;
}();

/// Returns whether the name is assumed to be pasted from these parts. It is not if it needs more
/// than four parts, of which more than one are single letters: all of CUTLASS and all of CCCL have
/// the six or seven parts of __DATE__, two of which are single letters.
bool IsLikely(const NameParts& parts, std::string_view name) {
  constexpr size_t kFewParts = 4;
  constexpr size_t kFewLetters = 1;
  const NameParts::Needed needed = parts.NeededFor(name);
  return needed.parts <= kFewParts || needed.letters <= kFewLetters;
}

bool IsPossible(const NameParts& parts, std::string_view name) {
  const NameParts::Needed needed = parts.NeededFor(name);
  // Large libraries have parts from which these names could be pasted, but in more than two pieces.
  // So only pastes of two parts count.
  constexpr size_t kFewParts = 2;
  if (name == shown_names::kAssertFail || name == shown_names::kHostAssertFail ||
      name == shown_names::kSourceLocation) {
    return needed.parts <= kFewParts;
  }
  // Every text has single letters, so a paste of several of them does not count. If an assertion is
  // missed that way, its text is still found in the output.
  if (name == shown_names::kAssert) return needed.letters <= 1;
  return needed.parts != NameParts::kImpossible;
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

/// Reads a text character by character and joins spliced lines.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { SkipSplices(); }

  [[nodiscard]] bool AtEnd() const { return at_ >= text_.size(); }
  [[nodiscard]] char Now() const { return AtEnd() ? '\n' : text_[at_]; }
  [[nodiscard]] size_t at() const { return at_; }
  void Next() {
    ++at_;
    SkipSplices();
  }

  /// Skips blanks and comments; newlines only if `across` or in a block comment. Returns false if a
  /// comment has no end.
  bool SkipBlanks(bool across) {
    for (; !AtEnd(); Next()) {
      if (Now() == '/' && Peek() == '*') {
        if (!SkipBlockComment()) return false;
      } else if (Now() == '/' && Peek() == '/') {
        while (!AtEnd() && Now() != '\n') Next();
        if (AtEnd() || !across) return true;
      } else if (Now() == '\n' ? !across : !IsBlank(Now())) {
        return true;
      }
    }
    return true;
  }

  /// Skips the rest of a directive with its newline. Returns false if a comment has no end.
  bool SkipDirective() {
    while (SkipBlanks(false)) {
      if (AtEnd()) return true;
      const char c = Now();
      if (c == '\n') {
        Next();
        return true;
      }
      if (c == '"' || c == '\'') {
        SkipLiteral(c);
      } else {
        Next();
      }
    }
    return false;
  }

  std::string TakeWord() {
    std::string word;
    for (; !AtEnd() && IsLetter(Now()) && word.size() < 32; Next()) word += Now();
    return word;
  }

 private:
  static bool IsBlank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
  }
  [[nodiscard]] char Peek() const {
    Cursor copy = *this;
    copy.Next();
    return copy.Now();
  }
  /// Skips a block comment, but not its last character. Returns false if it has no end.
  bool SkipBlockComment() {
    Next();
    Next();
    for (; !AtEnd(); Next()) {
      if (Now() == '*' && Peek() == '/') {
        Next();
        return true;
      }
    }
    return false;
  }
  /// Skips a literal. It ends at the end of the line at the latest.
  void SkipLiteral(char quote) {
    for (Next(); !AtEnd() && Now() != '\n'; Next()) {
      if (Now() == quote) return Next();
      if (Now() == '\\' && Peek() != '\n') Next();
    }
  }
  void SkipSplices() {
    for (;;) {
      const std::string_view rest = text_.substr(at_ < text_.size() ? at_ : text_.size());
      if (rest.starts_with("\\\n")) {
        at_ += 2;
      } else if (rest.starts_with("\\\r\n")) {
        at_ += 3;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

enum class Directive { kInclude, kOpen, kWithin, kClose, kPlain, kOther };

Directive DirectiveOf(std::string_view word) {
  if (word == "include" || word == "include_next") return Directive::kInclude;
  if (word == "if" || word == "ifdef" || word == "ifndef") return Directive::kOpen;
  if (word == "else" || word == "elif" || word == "elifdef" || word == "elifndef") {
    return Directive::kWithin;
  }
  if (word == "endif") return Directive::kClose;
  if (word == "define" || word == "undef") return Directive::kPlain;
  return Directive::kOther;
}

constexpr size_t kMaxPart = shown_names::kPrettyFunction.size() - 1;

/// A hash table with a number for each text that is a proper part of one of the names kAll.
class PartTable {
 public:
  PartTable() {
    uint16_t count = 0;
    for (const std::string_view name : shown_names::kAll) {
      for (size_t begin = 0; begin < name.size(); ++begin) {
        for (size_t length = 1; begin + length <= name.size() && length < name.size(); ++length) {
          Slot& slot = SlotOf(name.substr(begin, length));
          if (slot.part.empty()) slot = {name.substr(begin, length), count++};
        }
      }
    }
  }

  [[nodiscard]] std::optional<size_t> NumberOf(std::string_view part) const {
    const Slot& slot = const_cast<PartTable*>(this)->SlotOf(part);
    if (slot.part.empty()) return std::nullopt;
    return slot.number;
  }

 private:
  struct Slot {
    std::string_view part;
    uint16_t number = 0;
  };
  static constexpr size_t kSlots = 4 * NameParts::kMaxParts;

  /// Returns the slot of the part or, if it is not in the table, the empty slot for it.
  Slot& SlotOf(std::string_view part) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(part[i]); };
    size_t slot =
        at(0) * 31u + at(part.size() / 2) * 1031u + at(part.size() - 1) * 257u + part.size() * 67u;
    while (true) {
      Slot& found = slots_[slot++ % kSlots];
      if (found.part.empty() || found.part == part) return found;
    }
  }

  std::array<Slot, kSlots> slots_;
};

const PartTable& Parts() {
  static const PartTable table;
  return table;
}

bool IsLetter(std::string_view part) { return part.size() == 1 && part != "_"; }

}  // namespace

std::string_view WithoutSplices(std::string_view text, std::string* joined) {
  if (text.find('\\') == text.npos) return text;
  *joined = JoinLines(text);
  return *joined;
}

TextTraits ScanText(std::string_view text) {
  std::string joined;
  text = WithoutSplices(text, &joined);
  TextTraits traits;
  Lines lines(text);
  ForEachIdentifier(text, [&](std::string_view word) {
    if (!kWatched.MayHold(word)) return;
    const auto begin = static_cast<size_t>(word.data() - text.data());
    traits.may_paste = traits.may_paste || NameParts::IsNeeded(word);
    traits.canonical_name =
        traits.canonical_name || (word == kCanonicalWord && begin > 0 &&
                                  text.substr(begin - 1).starts_with(kCanonicalPrefix));
    traits.assertion = traits.assertion || Holds(shown_names::kAssertions, word);
    traits.path_token = traits.path_token || traits.canonical_name ||
                        Holds(shown_names::kPathWords, word) || word == shown_names::kAssert;
    traits.base_name_token = traits.base_name_token || word == shown_names::kBaseFile;
    if (word == shown_names::kPrettyFunction) {
      traits.function_token = true;
      traits.function_token_in_code = traits.function_token_in_code || !lines.IsDefine(begin);
    }
    if (!traits.time_token.empty()) return;
    const auto* const token = std::ranges::find(kTimeTokens, word);
    if (token != std::end(kTimeTokens)) traits.time_token = *token;
  });
  return traits;
}

NameParts PartsIn(std::string_view text) {
  std::string joined;
  text = WithoutSplices(text, &joined);
  NameParts parts;
  ForEachIdentifier(text, [&parts](std::string_view word) { parts.Add(word); });
  return parts;
}

TextTraits PastedNames(const NameParts& parts) {
  const auto likely = [&](std::string_view name) { return IsLikely(parts, name); };
  const auto possible = [&](std::string_view name) { return IsPossible(parts, name); };
  TextTraits traits;
  const auto* const time = std::ranges::find_if(kTimeTokens, likely);
  if (time != std::end(kTimeTokens)) traits.time_token = *time;
  traits.path_token = std::ranges::any_of(kPathNames, possible);
  traits.base_name_token = likely(shown_names::kBaseFile);
  traits.function_token = traits.function_token_in_code = likely(shown_names::kPrettyFunction);
  return traits;
}

size_t PreambleLength(std::string_view source) {
  Cursor cursor(source);
  size_t length = 0;
  size_t depth = 0;
  bool includes = false;  // whether an #include was read after the first `length` bytes
  while (cursor.SkipBlanks(true) && !cursor.AtEnd() && cursor.Now() == '#') {
    cursor.Next();
    if (!cursor.SkipBlanks(false)) break;
    const bool nothing = cursor.Now() == '\n';
    const Directive directive = nothing ? Directive::kPlain : DirectiveOf(cursor.TakeWord());
    if (directive == Directive::kOther) break;
    if (directive == Directive::kOpen) ++depth;
    if ((directive == Directive::kWithin || directive == Directive::kClose) && depth == 0) break;
    if (directive == Directive::kClose) --depth;
    includes = includes || directive == Directive::kInclude;
    if (!cursor.SkipDirective()) break;
    if (depth > 0 || !includes) continue;
    length = cursor.at() < source.size() ? cursor.at() : source.size();
    includes = false;
  }
  return length;
}

void NameParts::Add(std::string_view identifier) {
  if (std::ranges::find(kMacros, identifier) != kMacros.end()) identifier = "__";
  if (identifier.empty() || identifier.size() > kMaxPart) return;
  if (const auto number = Parts().NumberOf(identifier)) found_[*number] = true;
}

bool NameParts::IsNeeded(std::string_view identifier) {
  if (std::ranges::find(kMacros, identifier) != kMacros.end()) return true;
  return CompletesName(identifier) && Parts().NumberOf(identifier).has_value();
}

NameParts::Needed NameParts::NeededFor(std::string_view name) const {
  // needed[n] has the parts that are needed for the first n characters of the name.
  std::array<Needed, kMaxPart + 2> needed;
  needed[0] = {0, 0};
  for (size_t begin = 0; begin < name.size(); ++begin) {
    if (needed[begin].parts == kImpossible) continue;
    for (size_t end = begin + 1; end <= name.size(); ++end) {
      const std::string_view part = name.substr(begin, end - begin);
      const std::optional<size_t> number = Parts().NumberOf(part);
      if (part.size() == name.size() || !number || !found_[*number]) continue;
      Needed& other = needed[end];
      other.parts = std::min(other.parts, needed[begin].parts + 1);
      other.letters = std::min(other.letters, needed[begin].letters + (IsLetter(part) ? 1 : 0));
    }
  }
  return needed[name.size()];
}

}  // namespace cccl_cache::daemon
