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

/// Evicts or verifies entries of this daemon's store while builds continue. Works through the store
/// in portions, so an entry that is added during the call may be skipped. Thread-safe.
///
/// The toolchain of an entry is known only from the answered builds (AnsweredBuilds). An entry
/// without a recent answer thus matches no toolchain. The time of the last use is exact to an hour
/// for entries on the disk, and to a second for those in memory. Private entries have no such time.
class StoreUpkeep final : public Upkeep {
 public:
  /// The objects that StoreUpkeep uses. All must outlive it.
  struct Parts {
    RocksdbStore& disk;
    MemoryStore& memory;
    Deposits& deposits;
    EvictionLog& eviction_log;
    std::function<void(std::string_view)> report;  ///< called with one sentence for the log after
                                                   ///< each call of Evict or Verify
  };

  explicit StoreUpkeep(Parts parts) : parts_(std::move(parts)) {}

  Result<TierSize> Evict(const Peer& caller, const EvictionFilter& filter,
                         const Progress<TierSize>& progress, const std::stop_token& left) override;
  Result<Verified> Verify(const Peer& caller, const Progress<Verified>& progress,
                          const std::stop_token& left) override;

 private:
  const Parts parts_;
  std::atomic<bool> busy_{false};  ///< true during a call; only one may run at a time, because each
                                   ///< may read the whole disk
};

}  // namespace cccl_cache::daemon
