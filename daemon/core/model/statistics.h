// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// Counters of the daemon, which are kept across restarts. Their order may change. Their names in
/// kCounters must not change.
enum class Counter : uint8_t {
  kBuilds,
  kHitsMemory,
  kHitsDisk,
  kHitsShelf,
  kHitsRemote,
  kMisses,
  kJoins,
  kCompiles,
  kGivenUp,
  kRetries,
  kPchBuilds,
  kPchFailures,
  kPreambles,
  kPreambleFailures,
  kPathProofs,
  kMemoryWaits,
  kRememberedFailures,
  kCompileFailures,
  kUncacheable,
  kWorkerCrashes,
  kTimeouts,
  kOutOfMemory,
  kCancelled,
  kRefused,
  kCutOff,
  kCorruptEntries,
  kStoreErrors,
  kShadowChecks,
  kShadowMismatches,
  kCompileMicroseconds,
  kGivenUpMicroseconds,
  kSavedMicroseconds,
  kSavedUnknown,
  kEvictions,
  kTooLarge,
  kDeposits,
  kDepositHits,
  kDepositWaits,
  kDepositReadBytes,
  kDepositSavedMicroseconds,
  kDepositEvictions,
  kLeases,
  kLeasesLost,
  kLeasesFailed,
  kShelfLate,
  kShelfRefused,
  kRemoteLookups,
  kRemoteDeposits,
  kRemoteAnswers,
  kRemoteAnswerMicroseconds,
  kRemoteLate,
  kRemoteUntrusted,
  kRemoteForged,
  kRemoteOtherKey,
  kRemoteExpired,
  kRemoteMalformed,
  kRemoteTooLarge,
  kRemoteCorrupt,
  kRemoteWrites,
  kRemoteWritesFailed,
  kRemoteWritesFenced,
  kRemoteStayHome,
  kRemoteLeases,
  kRemoteWaits,
  kRemoteWaitsInVain,
  kCount,
};

/// How a caller got a deposit: it was stored already, another caller made it while this one waited,
/// or this caller made it.
enum class DepositUse : uint8_t { kFound, kJoined, kMade };

/// One request for a deposit that was answered.
struct DepositEvent {
  Account account{0};
  std::string_view name_space;
  DepositUse use = DepositUse::kFound;
  uint64_t bytes = 0;
  std::chrono::microseconds saved{0};  ///< the time for which another caller made it; 0 if unknown
};

/// How a counter is displayed. Scripts rely on the names, which docs/internals/protocol.md lists.
struct CounterInfo {
  Counter counter;
  std::string_view name;   ///< such as "hits_total"
  std::string_view label;  ///< such as "memory"; empty if the counter has no label
  std::string_view help;
  double per_unit = 1;  ///< the displayed value is the count divided by this number
};

[[nodiscard]] std::span<const CounterInfo> Counters();

/// The values of all counters. Thread-safe and lock-free.
class Statistics {
 public:
  void Add(Counter counter, uint64_t amount = 1) {
    counts_[static_cast<size_t>(counter)].fetch_add(amount, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t Get(Counter counter) const {
    return counts_[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }

  /// Sets all counters to zero.
  void Clear() {
    for (std::atomic<uint64_t>& count : counts_) count.store(0, std::memory_order_relaxed);
  }

  /// Returns all counters as text, to be stored until the next start: one line "name{label} count"
  /// for each.
  [[nodiscard]] std::string Serialize() const;
  /// Adds the counters that an earlier run serialised. Unknown lines are ignored.
  void Restore(std::string_view text);

 private:
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Counter::kCount)> counts_{};
};

}  // namespace cccl_cache::daemon
