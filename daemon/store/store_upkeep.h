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

/// Evicts entries of this daemon's store, and verifies them, while builds continue. Walks through
/// the store in portions; an entry that is added meanwhile may be skipped. Thread-safe.
///
/// The toolchain of an entry is known only from the answered builds (AnsweredBuilds), so an entry
/// without a recent answer matches no toolchain. The last use of an entry is known to the hour, in
/// memory to the second, and not at all for private entries.
class StoreUpkeep final : public Upkeep {
 public:
  /// All must outlive the object.
  struct Parts {
    RocksdbStore& disk;
    MemoryStore& memory;
    Deposits& deposits;
    EvictionLog& eviction_log;
    std::function<void(std::string_view)> report;  ///< gets one sentence for the log after each
                                                   ///< call
  };

  explicit StoreUpkeep(Parts parts) : parts_(std::move(parts)) {}

  Result<TierSize> Evict(const Peer& caller, const EvictionFilter& filter,
                         const Progress<TierSize>& progress, const std::stop_token& left) override;
  Result<Verified> Verify(const Peer& caller, const Progress<Verified>& progress,
                          const std::stop_token& left) override;

 private:
  const Parts parts_;
  std::atomic<bool> busy_{false};  ///< only one call at a time, because each may read the whole
                                   ///< disk
};

}  // namespace cccl_cache::daemon
