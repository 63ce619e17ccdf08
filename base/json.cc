// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace cccl_cache {
namespace {

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

void AppendJsonString(std::string& json, std::string_view text) {
  json.push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char first = text.front();
    if (length == 0) {
      json += "\\ufffd";
    } else if (length == 1 && (first == '"' || first == '\\' || first < 0x20)) {
      json += Escape(first);
    } else {
      json.append(text.substr(0, length));
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

}  // namespace cccl_cache
