// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/configuration/configuration.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/process/log.h"
#include "daemon/store/memory_store.h"
#include "daemon/store/rocksdb_store.h"

namespace cccl_cache::daemon {

/// All that is kept, and what is counted and noted about it. Its parts know each other, so it stays
/// where it is. Thread-safety is that of each part.
class Stores {
 public:
  /// Errors as RocksdbStore::Open has them. The log must outlive the result.
  [[nodiscard]] static Result<std::unique_ptr<Stores>> Open(const Configuration& configuration,
                                                            FindAccount find_account, Log& log);
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;

  Statistics statistics;
  Departures departures;
  MemoryStore memory;
  std::unique_ptr<RocksdbStore> disk;  ///< never null once opened; last: it tells the others

 private:
  explicit Stores(uint64_t memory_limit) : memory(memory_limit) {}
};

}  // namespace cccl_cache::daemon
