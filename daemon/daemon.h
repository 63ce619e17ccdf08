// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/compile/worker_compiler.h"
#include "daemon/configuration/configuration.h"
#include "daemon/core/closure/sent_files.h"
#include "daemon/core/coordinator/breakdown.h"
#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/coordinator/recent_failures.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/files/host_files.h"
#include "daemon/housekeeping.h"
#include "daemon/layer_options.h"
#include "daemon/process/log.h"
#include "daemon/releases/kept_releases.h"
#include "daemon/remote/remote_cluster.h"
#include "daemon/remote/shelves.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/server.h"
#include "daemon/service/transport/listening_socket.h"
#include "daemon/snapshot/node_snapshots.h"
#include "daemon/store/memory_store.h"
#include "daemon/store/rocksdb_store.h"
#include "daemon/store/store_upkeep.h"
#include "daemon/system/job_memory.h"
#include "daemon/toolchain/registry.h"

namespace cccl_cache::daemon {

/// The stores with their statistics and logs. The parts refer to each other, so it can't be moved.
/// Thread-safety is that of each part.
class Stores {
 public:
  /// Returns errors as RocksdbStore::Open does. The log must outlive the result.
  [[nodiscard]] static Result<std::unique_ptr<Stores>> Open(const Configuration& configuration,
                                                            FindAccount find_account, Log& log);
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;

  Statistics statistics;
  EvictionLog eviction_log;
  MemoryStore memory;
  std::unique_ptr<RocksdbStore> disk;  ///< never null after Open; last, because it calls the others

 private:
  explicit Stores(uint64_t memory_limit)
      : memory(memory_limit, [this](const Digest& key) { disk->NoteUse(key); }) {}
};

/// Makes and connects all objects that serve; each is a member, after those that it uses. To be
/// used by the thread that made it. The parts must outlive it, except for the configuration.
class Daemon {
 public:
  struct Parts {
    const Configuration& configuration;
    std::string worker;                   ///< path of cccl-cached-worker
    std::vector<std::string> own_places;  ///< paths that no client may read through the daemon
    std::optional<gid_t> admin_group;
    Stores& stores;
    Accounts& accounts;
    RemoteSetup remote;
    Log& log;
    std::optional<std::chrono::microseconds> watchdog;  ///< none: no watchdog calls `alive`
    /// Called more often than the watchdog's interval, while connections are accepted and locks are
    /// free.
    std::function<void()> alive;
  };

  explicit Daemon(Parts parts);

  /// Accepts connections from now on. Call it once.
  [[nodiscard]] Status Start(std::vector<ListeningSocket> sockets);
  /// Lets work in progress finish, for a limited time. Returns when no client is served any more.
  void Stop();

  [[nodiscard]] ToolchainRegistry& toolchains() { return toolchains_; }
  /// Returns whether it uses entries of other nodes.
  [[nodiscard]] bool shares() const { return redis_ != nullptr || shelves_ != nullptr; }
  /// Sets the keys, one of which must have signed those entries.
  void Trust(const std::shared_ptr<const TrustList>& trusted);

 private:
  Log& log_;
  LimitedLog cut_offs_;
  LimitedLog zygote_ends_;
  const std::shared_ptr<JobMemory> job_memory_;
  Budget budget_;
  WorkerCompiler compiler_;
  ToolchainRegistry toolchains_;
  KeptReleases releases_;
  HostFileAccess files_;
  const std::shared_ptr<SentContents> sent_contents_;
  BuildBreakdown breakdown_;
  RecentFailures failures_;
  const std::unique_ptr<RemoteCluster> redis_;  ///< may be null
  const std::unique_ptr<Shelves> shelves_;      ///< may be null
  BuildCoordinator coordinator_;
  Deposits deposits_;
  NodeSnapshots snapshots_;
  StoreUpkeep upkeep_;
  Server server_;
  Housekeeping housekeeping_;  ///< reports problems to the server
};

}  // namespace cccl_cache::daemon
