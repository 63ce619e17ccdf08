// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "daemon/core/model/file_checks.h"

namespace cccl_cache::daemon {

/// Compares the files of one toolchain with what was identified, on threads that may hang, and
/// publishes the result for threads that may not. For toolchains whose changes the kernel does not
/// tell. Thread-safe; owned by shared_ptr, for a thread that hangs keeps it.
class StampComparison : public std::enable_shared_from_this<StampComparison> {
 public:
  /// A result counts for so long, from the comparison's end.
  static constexpr std::chrono::milliseconds kCounts{1'000};
  /// After so long another comparison is due, so that busy callers never wait for one.
  static constexpr std::chrono::milliseconds kDue{500};

  enum class Verdict {
    kSame,
    kChanged,  ///< for ever
    kExpired,  ///< the last result is too old, and the next one not there yet
    kHangs,    ///< the file system has not answered for so long that it counts as hanging
  };

  /// `differ` looks at the files and may hang; it uses only what it owns.
  explicit StampComparison(std::function<bool()> differ) : differ_(std::move(differ)) {}

  /// Reads what was published; never waits.
  [[nodiscard]] Verdict Known() const;
  /// Whether nobody compares and the last result is old enough for another comparison.
  [[nodiscard]] bool Due() const;

  /// Compares on this thread, and publishes.
  bool Differ();
  /// Compares on a thread of `threads`, whose users are toolchains here, and publishes. `done` is
  /// called once, on another thread or this one: after a comparison that began after this call, or
  /// when the file system hangs. Calls that come before a comparison begins share it.
  void Begin(FileChecks& threads, uint64_t serial, std::function<void()> done);

 private:
  struct Round;

  /// The round takes no more callers.
  void Forget(const std::shared_ptr<Round>& round);
  [[nodiscard]] std::chrono::steady_clock::duration Age() const;

  const std::function<bool()> differ_;
  std::atomic<bool> changed_{false};
  std::atomic<bool> hangs_{false};
  std::atomic<std::chrono::steady_clock::time_point> compared_at_{std::chrono::steady_clock::now()};

  mutable std::mutex mutex_;
  std::shared_ptr<Round> next_;  ///< guarded by mutex_; ordered and not begun
};

}  // namespace cccl_cache::daemon
