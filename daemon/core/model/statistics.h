// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cccl_cache::daemon {

/// Totals since the state directory was made. The order may change; names may not: see kCounters.
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
  kDepositEvictions,
  kLeases,
  kLeasesLost,
  kLeasesFailed,
  kShelfLate,
  kShelfRefused,
  kRemoteLookups,
  kRemoteDeposits,
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
  kRemoteStayHome,
  kRemoteLeases,
  kRemoteWaits,
  kRemoteWaitsInVain,
  kCount,
};

/// The origin of a caller's deposit: it existed, another caller made it meanwhile, or the caller
/// made it.
enum class DepositUse : uint8_t { kFound, kJoined, kMade };

/// The display of one counter. docs/internals/protocol.md lists the names, on which scripts rely.
struct CounterInfo {
  Counter counter;
  std::string_view name;   ///< "hits_total"
  std::string_view label;  ///< "memory"; empty for none
  std::string_view help;
  double per_unit = 1;  ///< displayed value = count / per_unit, in the shortest digits
};

[[nodiscard]] std::span<const CounterInfo> Counters();

/// The daemon's totals. Thread-safe, lock-free.
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

  /// Returns one line per counter, "name{label} count", which is stored across restarts.
  [[nodiscard]] std::string Serialize() const;
  /// Adds the counters that an earlier run serialised. Unknown lines are ignored.
  void Restore(std::string_view text);

 private:
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Counter::kCount)> counts_{};
};

}  // namespace cccl_cache::daemon
