// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/preamble_scan.h"

#include <string>

namespace cccl_cache::daemon {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

/// Reads a text from its beginning; a backslash before a newline joins two lines.
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

  /// Blanks and comments; newlines too if `across`, and those in a comment in any case. False: a
  /// comment does not end.
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

  /// The rest of a directive, with its newline.
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
  /// Leaves the cursor on the last character.
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
  /// To behind its end; at most to the end of the line.
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

}  // namespace

size_t PreambleLength(std::string_view source) {
  Cursor cursor(source);
  size_t length = 0;
  size_t depth = 0;
  bool includes = false;       // up to the cursor
  bool kept_includes = false;  // up to length
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
    if (depth > 0) continue;
    length = cursor.at() < source.size() ? cursor.at() : source.size();
    kept_includes = includes;
  }
  return kept_includes ? length : 0;
}

}  // namespace cccl_cache::daemon
