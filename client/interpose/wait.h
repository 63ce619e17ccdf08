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

/// Even with `--wait 0` the daemon needs some time to answer.
inline constexpr std::chrono::milliseconds kLeastWait{100};

/// The environment variable of the steps of a run that cccl-cache-nvcc makes, with the number of
/// its process.
inline constexpr char kStepVariable[] = "CCCL_CACHE_STEP_OF";

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

/// Returns when the waits of a run of a tool end that began at this time. None means no limit.
[[nodiscard]] inline std::optional<std::chrono::steady_clock::time_point> RunWaitEnd(
    std::chrono::steady_clock::time_point begin) {
  const auto wait = RunWait();
  return wait ? std::optional(begin + *wait) : std::nullopt;
}

/// Returns how long a run of a tool waits for an equal one in another process, as RunWait(). A step
/// of a run does not wait: if 64 processes hold leases of whole runs, the daemon grants no more
/// leases, and their steps would wait for each other.
[[nodiscard]] inline std::optional<std::chrono::milliseconds> WaitForEqualRun() {
  return secure_getenv(kStepVariable) != nullptr ? std::chrono::milliseconds(0) : RunWait();
}

}  // namespace cccl_cache::interpose
