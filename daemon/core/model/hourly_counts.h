// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/statistics.h"

namespace cccl_cache::daemon {

/// The counters that HourlyCounts records. Each is written with its name, so that the list may
/// change.
inline constexpr std::array kHourlyCounters = {Counter::kHitsMemory,
                                               Counter::kHitsDisk,
                                               Counter::kHitsShelf,
                                               Counter::kHitsRemote,
                                               Counter::kJoins,
                                               Counter::kCompiles,
                                               Counter::kCompileFailures,
                                               Counter::kCompileMicroseconds,
                                               Counter::kSavedMicroseconds,
                                               Counter::kDeposits,
                                               Counter::kDepositHits,
                                               Counter::kDepositWaits,
                                               Counter::kDepositSavedMicroseconds};

/// How much the counters grew in one hour.
struct HourlyCount {
  uint64_t hour = 0;  ///< since 1970
  std::array<uint64_t, kHourlyCounters.size()> counts{};
};

/// How much the counters grew in each of the last hours with builds or deposits. The rows survive a
/// restart. Thread-safe.
class HourlyCounts {
 public:
  static constexpr size_t kMaxHours = 48;

  /// Counts the growth since the last call in the row of this hour. The first call only records the
  /// present values. Rows of later hours are dropped: the clock was wrong then.
  void Note(std::chrono::system_clock::time_point now, const Statistics& statistics);
  /// Returns the rows, the oldest first.
  [[nodiscard]] std::vector<HourlyCount> Take() const;
  void Clear();

  /// Returns all rows as text: one line "HOUR NAME{LABEL}=COUNT ..." for each.
  [[nodiscard]] std::string Serialize() const;
  /// Adds the rows that an earlier run serialised. Must be called before Note. Lines that can't be
  /// read and unknown names are ignored.
  void Restore(std::string_view text);

 private:
  using Counts = decltype(HourlyCount::counts);

  [[nodiscard]] HourlyCount& RowOf(uint64_t hour) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::deque<HourlyCount> rows_ GUARDED_BY(mutex_);
  Counts last_ GUARDED_BY(mutex_){};  // the values of the counters at the last Note
  bool noted_ GUARDED_BY(mutex_) = false;
};

}  // namespace cccl_cache::daemon
