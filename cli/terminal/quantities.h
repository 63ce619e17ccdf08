// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache::cli {

// Numbers and texts for people.

/// As JSON has it: without a fraction if it is integral.
[[nodiscard]] std::string Number(double value);
/// "12,480"
[[nodiscard]] std::string Count(double value);
/// "1 hit", "7 hits"; the plural is `one` with an s if it is not given.
[[nodiscard]] std::string Many(double count, const std::string& one,
                               const std::string& several = "");
/// "2.6 ms"
[[nodiscard]] std::string Fixed(double value, const char* unit);
/// "2.1 GiB"
[[nodiscard]] std::string Bytes(double bytes);
/// "1.2 / 16.0 GiB (7 %)". An older daemon does not tell its limit.
[[nodiscard]] std::string Use(double bytes, double limit);
/// "9 h 12 m", "2.6 s"
[[nodiscard]] std::string Duration(double seconds);

/// Returns the first characters of a text, of which each takes a column of a terminal.
[[nodiscard]] std::string_view Cut(std::string_view text, size_t columns);

/// Reads "30s", "30m", "12h" or "7d". None: it is none of these, or not above zero.
[[nodiscard]] std::optional<std::chrono::seconds> ParseDuration(std::string_view text);

}  // namespace cccl_cache::cli
