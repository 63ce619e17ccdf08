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

// Numbers and texts for people.

/// A number of any type.
struct Quantity {
  template <typename Type>
  requires std::is_arithmetic_v<Type> Quantity(Type number)
      : value(static_cast<double>(number)) {}  // NOLINT: implicit
  double value;
};

/// Returns the number as in JSON: without a fraction if it is integral.
[[nodiscard]] std::string Number(Quantity number);
/// Returns "12,480".
[[nodiscard]] std::string Count(Quantity number);
/// Returns "1 hit" or "7 hits"; the default plural is `one` with an s.
[[nodiscard]] std::string Many(Quantity count, const std::string& one,
                               const std::string& several = "");
/// Returns "2.6 ms".
[[nodiscard]] std::string Fixed(Quantity number, const char* unit);
/// Returns "2.1 GiB".
[[nodiscard]] std::string Bytes(Quantity number);
/// Returns "1.2 / 16.0 GiB (7 %)", or only "1.2 GiB" if `limit` is 0, as from an older daemon.
[[nodiscard]] std::string Use(Quantity bytes, Quantity limit);
/// Returns "9 h 12 m", "2.6 s".
[[nodiscard]] std::string Duration(Quantity seconds);

/// Return a time, in seconds since 1970, in a format of strftime; "?" if that is impossible.
[[nodiscard]] std::string LocalTime(uint64_t seconds, const char* format);
[[nodiscard]] std::string UtcTime(uint64_t seconds, const char* format);

/// Returns the first `columns` characters of a text; each takes one column of a terminal.
[[nodiscard]] std::string_view Cut(std::string_view text, size_t columns);

/// Parses "30s", "30m", "12h" or "7d". Returns none for other texts and for zero.
[[nodiscard]] std::optional<std::chrono::seconds> ParseDuration(std::string_view text);

}  // namespace cccl_cache::cli
