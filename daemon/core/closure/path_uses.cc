// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/path_uses.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/closure/cccl_lines.h"

namespace cccl_cache::daemon {
namespace {

/// Identifiers in the definitions of assertion macros. If a program redefines one of them, an
/// assertion may turn its path into a number.
constexpr auto kMeanings = std::to_array<std::string_view>({"__LINE__",
                                                            "__func__",
                                                            "__PRETTY_FUNCTION__",
                                                            "static_cast",
                                                            "sizeof",
                                                            "void",
                                                            "char",
                                                            "bool",
                                                            "Debug",
                                                            "message",
                                                            "CUB_NS_QUALIFIER",
                                                            "_CCCL_PRAGMA",
                                                            "_CCCL_TO_STRING",
                                                            "_CCCL_BUILTIN_EXPECT",
                                                            "NV_IF_TARGET",
                                                            "NV_IF_ELSE_TARGET",
                                                            "NV_DISPATCH_TARGET",
                                                            "if",
                                                            "asm",
                                                            "cub",
                                                            "fprintf",
                                                            "__libcpp_verbose_abort",
                                                            "__libcpp_debug_function",
                                                            "__libcpp_debug_info"});

constexpr WordFilter kWatchedWords = [] {
  WordFilter filter;
  for (const std::string_view word : shown_names::kPathWords) filter.Add(word);
  for (const std::string_view word : shown_names::kAssertions) filter.Add(word);
  return filter;
}();

/// The longest delimiter of a raw literal that compilers accept.
constexpr size_t kMaxDelimiter = 16;

constexpr auto kRawPrefixes = std::to_array<std::string_view>({"R", "LR", "uR", "UR", "u8R"});

constexpr auto kDirectoriesOfCccl =
    std::to_array<std::string_view>({"cub", "cuda", "nv", "thrust"});

template <typename Words>
bool IsOneOf(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool HoldsOneOf(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](auto part) { return text.find(part) != text.npos; });
}

bool BeginsWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool InWord(char c) { return BeginsWord(c) || (c >= '0' && c <= '9'); }

/// Splits a text into comments, literals, directives and words as a preprocessor does. Spliced
/// lines must have been joined. If the compiler might split the text in another way, doubt()
/// returns true. PathUsesIn() then searches the whole text, comments included.
class UseReader {
 public:
  UseReader(std::string_view text, bool spliced, bool of_cccl)
      : text_(text), spliced_(spliced), of_cccl_(of_cccl) {}

  PathUses Read() {
    while (at_ < text_.size()) Next();
    EndLine();
    uses_.doubts_assertions = uses_.doubts_assertions || depth_ != 0 || !groups_.empty();
    return uses_;
  }

  [[nodiscard]] bool doubt() const { return doubt_; }

 private:
  /// An #if that was not closed yet.
  struct Group {
    int before;                ///< depth of parentheses before it
    std::optional<int> after;  ///< depth after each branch that has ended; none at first
    bool has_else = false;
  };

  [[nodiscard]] char Peek(size_t ahead = 1) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n';
  }

  void Next() {
    const char c = text_[at_];
    if (c == '\n') {
      EndLine();
      ++at_;
    } else if (BeginsWord(c)) {
      Word();
    } else if ((c >= '0' && c <= '9') || (c == '.' && Peek() >= '0' && Peek() <= '9')) {
      Number();
    } else if (c == '/' && (Peek() == '/' || Peek() == '*')) {
      Comment();
    } else if (c == '"' || c == '\'') {
      Literal(c);
    } else {
      Sign(c);
    }
  }

  void Sign(char c) {
    if (c == '#' && line_.empty()) is_directive_ = true;
    if (c == '%' && Peek() == ':') doubt_ = true;  // "%:" is a digraph for #
    if (!is_directive_ && c == '(') ++depth_;
    if (!is_directive_ && c == ')' && --depth_ < 0) uses_.doubts_assertions = true;
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
    if (blank) {
      Blank();
    } else {
      line_ += c;
    }
    ++at_;
  }

  void Blank() {
    if (!line_.empty() && line_ != "#" && line_.back() != ' ') line_ += ' ';
  }

  void Word() {
    const size_t begin = at_;
    while (at_ < text_.size() && InWord(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && text_[at_] == '"' && word.ends_with('R')) {
      // Another prefix is a macro before an ordinary literal, so the word is ambiguous.
      if (!IsOneOf(kRawPrefixes, word)) doubt_ = true;
      return RawLiteral();
    }
    line_ += word;
    if (is_directive_ && directive_.empty()) {
      directive_ = word;
      return BeginDirective();
    }
    Take(word, true);
  }

  /// Skips a number with its suffix and digit separators. Its apostrophes do not begin literals.
  void Number() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool sign = (c == '+' || c == '-') &&
                        std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos;
      const bool separator = c == '\'' && InWord(Peek());
      if (!InWord(c) && c != '.' && !sign && !separator) return;
      // Before C++17, a sign after a p begins a new token.
      if (sign && BeginsWord(Peek())) doubt_ = true;
      separates_ = separates_ || separator;
      line_ += c;
      ++at_;
    }
  }

  void Comment() {
    if (Peek() == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    const size_t end = text_.find("*/", at_ + 2);
    // In an #include it may be part of a header's name instead of a comment.
    const bool lines = text_.substr(at_, end - at_).find('\n') != text_.npos;
    if (end == text_.npos || (lines && is_directive_)) doubt_ = true;
    Blank();
    at_ = end == text_.npos ? text_.size() : end + 2;
  }

  /// Skips a literal. It ends at the end of the line at the latest, as for the compiler.
  void Literal(char quote) {
    // Before C++14, the apostrophe in a number begins a literal.
    if (quote == '\'' && separates_) doubt_ = true;
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' && Peek() != '\n' ? 2 : 1;
    }
    at_ = std::min(at_, text_.size());
    line_ += quote;
    line_ += quote;
    const std::string_view contents = text_.substr(begin, at_ - begin);
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
    // The literal of a _Pragma operator contains code. Without these characters, the code can't
    // name a path and can't paste tokens.
    const bool may_be_code =
        contents.find('(') != contents.npos || contents.find("__") != contents.npos;
    if (may_be_code) WordsIn(contents);
  }

  void RawLiteral() {
    const size_t begin = ++at_;
    const std::string_view rest = text_.substr(begin);
    const std::string_view delimiter = rest.substr(0, rest.substr(0, kMaxDelimiter + 1).find('('));
    const size_t size = delimiter.size() > kMaxDelimiter
                            ? rest.npos
                            : rest.find(")" + std::string(delimiter) + "\"");
    // In a raw literal, a backslash before a newline does not join lines.
    if (spliced_ || size == rest.npos) doubt_ = true;
    line_ += "\"\"";
    at_ = size == rest.npos ? text_.size() : begin + size + delimiter.size() + 2;
    WordsIn(rest.substr(0, size));
  }

  void WordsIn(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      while (at < text.size() && InWord(text[at])) ++at;
      if (at > begin && BeginsWord(text[begin])) Take(text.substr(begin, at - begin), false);
      if (at == begin) ++at;
    }
  }

  void BeginDirective() {
    if (directive_.starts_with("include") && depth_ != 0) uses_.doubts_assertions = true;
    if (directive_.starts_with("if")) return groups_.push_back({depth_, std::nullopt});
    const bool end = directive_ == "endif";
    if (!end && !directive_.starts_with("el")) return;
    if (groups_.empty()) {
      uses_.doubts_assertions = true;
      return;
    }
    // The compiler sees only one branch, so all branches must have equally many open parentheses.
    Group& group = groups_.back();
    if (group.after.value_or(depth_) != depth_) uses_.doubts_assertions = true;
    group.after = depth_;
    group.has_else = group.has_else || directive_ == "else";
    if (!end) {
      depth_ = group.before;
    } else {
      if (!group.has_else && depth_ != group.before) uses_.doubts_assertions = true;
      groups_.pop_back();
    }
  }

  void Take(std::string_view word, bool in_code) {
    uses_.parts.Add(word);
    const bool defines = directive_ == "define" && !std::exchange(defined_, true);
    if (defines && !of_cccl_ && IsOneOf(kMeanings, word)) uses_.doubts_assertions = true;
    if (!kWatchedWords.MayHold(word)) return;
    if (IsOneOf(shown_names::kPathWords, word)) names_path_ = true;
    if (!IsOneOf(shown_names::kAssertions, word) || defines) return;
    if (is_directive_ && directive_ != "define" && directive_ != "pragma") return;
    uses_.as_text = true;
    // Inside another macro, or in the argument of one, the expansion can be turned into a string
    // literal, and the program can use the length of that literal.
    if (!of_cccl_ && (is_directive_ || depth_ != 0 || !in_code)) uses_.as_number = true;
  }

  void EndLine() {
    if (names_path_) {
      while (line_.ends_with(' ')) line_.pop_back();
      const bool known = of_cccl_ && IsOneOf(kCcclLines, line_);
      (known ? uses_.as_text : uses_.as_number) = true;
    }
    line_.clear();
    directive_ = {};
    is_directive_ = defined_ = names_path_ = separates_ = false;
  }

  const std::string_view text_;
  const bool spliced_;
  const bool of_cccl_;
  PathUses uses_;
  bool doubt_ = false;
  size_t at_ = 0;
  int depth_ = 0;  ///< number of open parentheses
  std::vector<Group> groups_;
  // State of the current line: the text, normalised as in kCcclLines; the directive; whether the
  // name after #define was read; whether the line has one of kPathWords; whether a number has an
  // apostrophe.
  std::string line_;
  std::string_view directive_;
  bool is_directive_ = false;
  bool defined_ = false;
  bool names_path_ = false;
  bool separates_ = false;
};

}  // namespace

PathUses PathUsesIn(std::string_view text, bool of_cccl) {
  std::string joined;
  UseReader reader(WithoutSplices(text, &joined), !joined.empty(), of_cccl);
  PathUses uses = reader.Read();
  if (of_cccl) uses.doubts_assertions = false;
  // Trigraphs of #, \, ^, [ and ], which exist up to C++14, also in comments.
  const bool trigraphs = HoldsOneOf(text, {"?\?=", "?\?/", "?\?'", "?\?(", "?\?)"});
  if (!reader.doubt() && !trigraphs) return uses;
  // The text is ambiguous, so any of its words may be code.
  const TextTraits words = ScanText(text);
  uses.parts = PartsIn(text);
  // Trigraphs for a backslash at the end of a line may join lines inside any word.
  const bool other_splices = HoldsOneOf(text, {"?\?/\n", "?\?/\r\n"});
  uses.as_number = uses.as_number || words.path_token || words.assertion || other_splices;
  uses.doubts_assertions = true;
  return uses;
}

bool IsNamedLikeCccl(std::string_view below) {
  // Another header may include the file by a relative name: cuda/../mine.h.
  const std::string name = std::filesystem::path(below).lexically_normal();
  const size_t slash = name.find('/');
  const std::string_view directory = std::string_view(name).substr(0, slash);
  return slash != name.npos && IsOneOf(kDirectoriesOfCccl, directory);
}

bool IsOfCccl(std::string_view below, std::string_view text) {
  return IsNamedLikeCccl(below) &&
         HoldsOneOf(text, {"_CCCL_", "_LIBCUDACXX_", "_CUDA_VSTD", "CUB_NS_", "CUB_NAMESPACE_",
                           "THRUST_NAMESPACE_", "_NV_TARGET_"});
}

}  // namespace cccl_cache::daemon
