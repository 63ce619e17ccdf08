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

/// The variable of `run --wait`.
inline constexpr char kWaitVariable[] = "CCCL_CACHE_RUN_WAIT_MS";

/// Returns how long this process waits for each compile by the daemon before it uses the real
/// library; 0: it accepts only hits. None: no limit.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> RunWait() {
  const char* const variable = secure_getenv(kWaitVariable);
  if (variable == nullptr) return std::nullopt;
  const std::string_view text = variable;
  uint32_t wait = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wait);
  // An invalid value is ignored: an unchanged program must not fail because of our variable.
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return std::chrono::milliseconds(wait);
}

}  // namespace cccl_cache::interpose
