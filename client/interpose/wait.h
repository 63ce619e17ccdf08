// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace cccl_cache::interpose {

/// The environment variable through which `run --wait` passes its value, in milliseconds.
inline constexpr char kWaitVariable[] = "CCCL_CACHE_RUN_WAIT_MS";

/// Returns how long this process waits for each build in the daemon before it uses the real
/// library. 0 means that only cached results are used. None means no limit.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> RunWait() {
  const char* const variable = secure_getenv(kWaitVariable);
  if (variable == nullptr) return std::nullopt;
  const std::string_view text = variable;
  uint32_t wait = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wait);
  // An invalid value is ignored: this variable must not make the program fail.
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return std::chrono::milliseconds(wait);
}

}  // namespace cccl_cache::interpose
