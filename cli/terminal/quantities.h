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

/// Returns the number as in JSON: without a fraction if it is integral.
[[nodiscard]] std::string Number(double value);
/// Returns "12,480".
[[nodiscard]] std::string Count(double value);
/// Returns "1 hit" or "7 hits"; the default plural is `one` with an s.
[[nodiscard]] std::string Many(double count, const std::string& one,
                               const std::string& several = "");
/// Returns "2.6 ms".
[[nodiscard]] std::string Fixed(double value, const char* unit);
/// Returns "2.1 GiB".
[[nodiscard]] std::string Bytes(double bytes);
/// Returns "1.2 / 16.0 GiB (7 %)", or only "1.2 GiB" if `limit` is 0, as from an older daemon.
[[nodiscard]] std::string Use(double bytes, double limit);
/// Returns "9 h 12 m", "2.6 s".
[[nodiscard]] std::string Duration(double seconds);

/// Returns the first `columns` characters of a text; each takes one column of a terminal.
[[nodiscard]] std::string_view Cut(std::string_view text, size_t columns);

/// Parses "30s", "30m", "12h" or "7d". Returns none for other texts and for zero.
[[nodiscard]] std::optional<std::chrono::seconds> ParseDuration(std::string_view text);

}  // namespace cccl_cache::cli
