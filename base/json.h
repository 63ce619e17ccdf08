// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache {

/// Appends the text as a JSON string in quotes. A byte that is not well-formed UTF-8 becomes
/// U+FFFD. Characters for which SteersTerminal() is true are escaped.
void AppendJsonString(std::string& json, std::string_view text);

/// Writes one JSON value with indentation and commas. Not thread-safe.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Begin('{'); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray() { return Begin('['); }
  JsonWriter& EndArray() { return End(']'); }
  /// Writes the key of the next value in an object.
  JsonWriter& Key(std::string_view key);

  JsonWriter& String(std::string_view text);
  JsonWriter& Integer(int64_t number);
  JsonWriter& Unsigned(uint64_t number);
  /// Writes a number, without a fraction if it is integral. An infinite number or NaN becomes 0.
  JsonWriter& Number(double number);
  JsonWriter& Boolean(bool value);

  /// Writes keys and values in turn, each value by the function for its type:
  /// Fields("tier", tier, "bytes", 7).
  template <typename Value, typename... More>
  JsonWriter& Fields(std::string_view key, const Value& value, const More&... more) {
    Key(key);
    if constexpr (std::same_as<Value, bool>) {
      Boolean(value);
    } else if constexpr (std::unsigned_integral<Value>) {
      Unsigned(value);
    } else if constexpr (std::signed_integral<Value>) {
      Integer(value);
    } else if constexpr (std::floating_point<Value>) {
      Number(value);
    } else {
      String(value);
    }
    if constexpr (sizeof...(more) > 0) Fields(more...);
    return *this;
  }

  /// Returns the text with a newline at its end.
  [[nodiscard]] std::string Finish();

 private:
  JsonWriter& Begin(char bracket);
  JsonWriter& End(char bracket);
  void Separate();

  std::string text_;
  std::vector<bool> filled_;  ///< one per open bracket: whether it has an element
  bool after_key_ = false;
};

}  // namespace cccl_cache
