// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace cccl_cache::cli {

// The functions below format numbers and texts for human readers.

/// A number. Any arithmetic type converts to it implicitly.
struct Quantity {
  template <typename Type>
  requires std::is_arithmetic_v<Type> Quantity(Type number)
      : value(static_cast<double>(number)) {}  // NOLINT: implicit
  double value;
};

/// Returns the number as in JSON: without a fraction if it is integral.
[[nodiscard]] std::string Number(Quantity number);
/// Returns a rounded number with separators, such as "12,480".
[[nodiscard]] std::string Count(Quantity number);
/// Returns text such as "1 hit" or "7 hits". If `several` is empty, the plural is `one` with an s.
[[nodiscard]] std::string Many(Quantity count, const std::string& one,
                               const std::string& several = "");
/// Returns the number with one decimal place and the unit, such as "2.6 ms".
[[nodiscard]] std::string Fixed(Quantity number, const char* unit);
/// Returns a number of bytes with a suitable unit, such as "2.1 GiB".
[[nodiscard]] std::string Bytes(Quantity number);
/// Returns text such as "1.2 / 16.0 GiB (7 %)". Returns only "1.2 GiB" if `limit` is 0, as it is if
/// an older daemon does not report it.
[[nodiscard]] std::string Use(Quantity bytes, Quantity limit);
/// Returns a duration such as "9 h 12 m" or "2.6 s".
[[nodiscard]] std::string Duration(Quantity seconds);

/// The functions below format a time as strftime() does. `seconds` is the time since 1970. They
/// return "?" if the time can't be represented.
[[nodiscard]] std::string LocalTime(uint64_t seconds, const char* format);
[[nodiscard]] std::string UtcTime(uint64_t seconds, const char* format);

/// Returns the number of characters of a text in UTF-8.
[[nodiscard]] size_t Width(std::string_view text);
/// Returns the first `columns` characters of the text. The text is UTF-8; each character is assumed
/// to take one column of a terminal.
[[nodiscard]] std::string_view Cut(std::string_view text, size_t columns);

/// Parses a duration such as "30s", "30m", "12h" or "7d". Returns none for other texts and for
/// zero.
[[nodiscard]] std::optional<std::chrono::seconds> ParseDuration(std::string_view text);

/// Parses the value of --wait, such as "0", "50ms" or "2s". Returns none for other texts and for
/// more than an hour.
[[nodiscard]] std::optional<std::chrono::milliseconds> ParseWait(std::string_view text);
/// Returns the message for a value of --wait that ParseWait refuses.
[[nodiscard]] std::string NoWait(const std::string& text);

}  // namespace cccl_cache::cli
