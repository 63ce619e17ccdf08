// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace cccl_cache::cli {
namespace {

// Length of the well-formed UTF-8 sequence at the front; 0: none.
size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, beyond U+10FFFF.
  if ((first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) >= 0xa0)) return 0;
  if ((first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) >= 0x90)) return 0;
  return length;
}

std::string Escape(char character) {
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default: {
      constexpr std::string_view kDigits = "0123456789abcdef";
      std::string escape = "\\u00";
      escape.push_back(kDigits[static_cast<unsigned char>(character) >> 4]);
      escape.push_back(kDigits[character & 0xf]);
      return escape;
    }
  }
}

template <typename T>
std::string Digits(T number) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number);
  return {digits, end.ptr};
}

}  // namespace

JsonWriter& JsonWriter::Key(std::string_view key) {
  Separate();
  Quote(key);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  Separate();
  Quote(text);
  return *this;
}

JsonWriter& JsonWriter::Integer(int64_t number) {
  Separate();
  text_ += Digits(number);
  return *this;
}

JsonWriter& JsonWriter::Number(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(number)) number = 0;
  if (std::trunc(number) == number && std::abs(number) <= kExact) {
    return Integer(static_cast<int64_t>(number));
  }
  Separate();
  text_ += Digits(number);
  return *this;
}

JsonWriter& JsonWriter::Boolean(bool value) {
  Separate();
  text_ += value ? "true" : "false";
  return *this;
}

std::string JsonWriter::Finish() {
  text_.push_back('\n');
  return std::exchange(text_, {});
}

JsonWriter& JsonWriter::Begin(char bracket) {
  Separate();
  text_.push_back(bracket);
  filled_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  const bool filled = filled_.back();
  filled_.pop_back();
  if (filled) text_.append(1, '\n').append(2 * filled_.size(), ' ');
  text_.push_back(bracket);
  return *this;
}

void JsonWriter::Separate() {
  if (std::exchange(after_key_, false) || filled_.empty()) return;
  if (filled_.back()) text_.push_back(',');
  filled_.back() = true;
  text_.append(1, '\n').append(2 * filled_.size(), ' ');
}

void JsonWriter::Quote(std::string_view text) {
  text_.push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char first = text.front();
    if (length == 0) {
      text_ += "\\ufffd";
    } else if (length == 1 && (first == '"' || first == '\\' || first < 0x20)) {
      text_ += Escape(first);
    } else {
      text_.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_.push_back('"');
}

}  // namespace cccl_cache::cli
