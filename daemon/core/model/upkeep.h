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
  std::vector<DigestPrefix> keys;  ///< each prefix must match a single key
  /// Selects entries that were not used for longer than this.
  std::optional<std::chrono::seconds> unused_for;
  /// Selects the results of this toolchain that users received last. The prefix must match a single
  /// toolchain.
  std::optional<DigestPrefix> toolchain;
  bool all = false;
};

/// The counts of a verification so far.
struct Verified {
  TierSize read;
  TierSize all;             ///< number and bytes of all entries at the start
  uint64_t broken = 0;      ///< number of read entries that did not match their digest and were
                            ///< dropped
  uint64_t unreadable = 0;  ///< number of entries that the disk did not return; they are kept
};

/// The operations of administrators on all stored entries. Thread-safe. Every call blocks as long
/// as the disk does, and uses a limited amount of memory.
class Upkeep {
 public:
  /// Receives the counts so far, from time to time. If it returns an error, the operation ends.
  template <typename Numbers>
  using Progress = std::function<Status(const Numbers&)>;

  virtual ~Upkeep() = default;

  /// Evicts matching entries from all tiers, including private entries and deposits. Returns the
  /// number of evicted entries. kInvalidRequest: a prefix matches several keys or toolchains, or no
  /// known toolchain; nothing was evicted. kOverloaded: another Evict or Verify is running.
  /// kCancelled: a stop of `left` was requested, because the caller has left. kUnavailable: the
  /// disk fails.
  virtual Result<TierSize> Evict(const Peer& caller, const EvictionFilter& filter,
                                 const Progress<TierSize>& progress,
                                 const std::stop_token& left) = 0;
  /// Reads all entries of the disk, and drops entries that do not match their digest. Returns the
  /// same errors as Evict.
  virtual Result<Verified> Verify(const Peer& caller, const Progress<Verified>& progress,
                                  const std::stop_token& left) = 0;
};

}  // namespace cccl_cache::daemon
