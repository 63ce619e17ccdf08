// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "daemon/core/lease/deposits.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/upkeep.h"
#include "daemon/store/memory_store.h"
#include "daemon/store/rocksdb_store.h"

namespace cccl_cache::daemon {

/// Evicts from, and verifies, this daemon's store. Walks through it in portions, while builds go
/// on. What builds keep meanwhile may stay. Thread-safe.
///
/// A toolchain is known only from the record of what users were answered with (AnsweredBuilds), so
/// entries that no user was answered with lately are of no toolchain. The last use of an entry is
/// known to the hour, or to the second while it is in memory; that of private entries is not known.
class StoreUpkeep final : public Upkeep {
 public:
  /// All must outlive the object.
  struct Parts {
    RocksdbStore& disk;
    MemoryStore& memory;
    Deposits& deposits;
    EvictionLog& eviction_log;
    std::function<void(std::string_view)> report;  ///< one sentence for the log after each call
  };

  explicit StoreUpkeep(Parts parts) : parts_(std::move(parts)) {}

  Result<TierSize> Evict(const Peer& caller, const EvictionFilter& filter,
                         const Progress<TierSize>& progress, const std::stop_token& left) override;
  Result<Verified> Verify(const Peer& caller, const Progress<Verified>& progress,
                          const std::stop_token& left) override;

 private:
  const Parts parts_;
  std::atomic<bool> busy_{false};  ///< one call at a time: each may read the whole disk
};

}  // namespace cccl_cache::daemon
