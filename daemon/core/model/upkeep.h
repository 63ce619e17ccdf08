// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Selects the entries to evict. Exactly one field is set.
struct EvictionFilter {
  std::vector<DigestPrefix> keys;  ///< each must be unambiguous
  /// Entries whose last use is longer ago than this.
  std::optional<std::chrono::seconds> unused_for;
  /// Entries of this toolchain in users' last answers; must be unambiguous.
  std::optional<DigestPrefix> toolchain;
  bool all = false;
};

/// The counts of a verification so far.
struct Verified {
  TierSize read;
  TierSize all;             ///< of all entries at the start
  uint64_t broken = 0;      ///< of the read entries: did not verify, and were dropped
  uint64_t unreadable = 0;  ///< the disk did not return them; they are kept
};

/// Calls of administrators on all stored entries. Thread-safe. Every call blocks as long as the
/// disk does, and uses a limited amount of memory.
class Upkeep {
 public:
  /// Receives the counts so far, from time to time. An error ends the call.
  template <typename Numbers>
  using Progress = std::function<Status(const Numbers&)>;

  virtual ~Upkeep() = default;

  /// Evicts matching entries from all tiers, including private entries and deposits. Returns their
  /// number. kInvalidRequest: a prefix is ambiguous, or no known toolchain has it; nothing was
  /// evicted. kOverloaded: another call of Evict or Verify runs. kCancelled: `left` was stopped.
  /// kUnavailable: the disk refuses.
  virtual Result<TierSize> Evict(const Peer& caller, const EvictionFilter& filter,
                                 const Progress<TierSize>& progress,
                                 const std::stop_token& left) = 0;
  /// Reads all entries of the disk and drops those that do not verify. Errors as for Evict.
  virtual Result<Verified> Verify(const Peer& caller, const Progress<Verified>& progress,
                                  const std::stop_token& left) = 0;
};

}  // namespace cccl_cache::daemon
