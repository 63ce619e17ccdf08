// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace cccl_cache {
namespace {

// Returns the code point of one UTF-8 sequence of at most three bytes.
uint32_t CodePoint(std::string_view character) {
  uint32_t code = static_cast<uint8_t>(character.front());
  if (character.size() > 1) code &= character.size() == 2 ? 0x1f : 0x0f;
  for (const char byte : character.substr(1)) code = code << 6 | (byte & 0x3f);
  return code;
}

std::string Escape(std::string_view character) {
  switch (character.front()) {
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
      std::string escape = "\\u";
      const uint32_t code = CodePoint(character);
      for (int shift = 12; shift >= 0; shift -= 4) escape.push_back(kDigits[code >> shift & 0xf]);
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

void AppendJsonString(std::string& json, std::string_view text) {
  json.push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const std::string_view character = text.substr(0, length);
    if (length == 0) {
      json += "\\ufffd";
    } else if (character == "\"" || character == "\\" || SteersTerminal(character)) {
      json += Escape(character);
    } else {
      json.append(character);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  json.push_back('"');
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  Separate();
  AppendJsonString(text_, key);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  Separate();
  AppendJsonString(text_, text);
  return *this;
}

JsonWriter& JsonWriter::Integer(int64_t number) {
  Separate();
  text_ += Digits(number);
  return *this;
}

JsonWriter& JsonWriter::Unsigned(uint64_t number) {
  Separate();
  text_ += Digits(number);
  return *this;
}

JsonWriter& JsonWriter::Number(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53; a double can hold all smaller integers
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

}  // namespace cccl_cache
