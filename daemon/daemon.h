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
#include "daemon/core/model/hourly_counts.h"
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

/// The stores, their statistics and their logs. The members refer to each other, so a Stores object
/// can't be moved. See each member for its thread-safety.
class Stores {
 public:
  /// Returns the same errors as RocksdbStore::Open. The log must outlive the stores.
  [[nodiscard]] static Result<std::unique_ptr<Stores>> Open(const Configuration& configuration,
                                                            FindAccount find_account, Log& log);
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;

  Statistics statistics;
  HourlyCounts hours;
  EvictionLog eviction_log;
  MemoryStore memory;
  std::unique_ptr<RocksdbStore> disk;  ///< never null after Open; last member, because it calls the
                                       ///< others

 private:
  explicit Stores(uint64_t memory_limit)
      : memory(memory_limit, [this](const Digest& key) { disk->NoteUse(key); }) {}
};

/// Makes and connects all objects that serve clients. Each member is declared after the members
/// that it uses. Only the thread that made a Daemon may use it. The parts must outlive it, except
/// for the configuration.
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
    std::optional<std::chrono::microseconds> watchdog;  ///< timeout of the watchdog; none: `alive`
                                                        ///< is never called
    /// Called several times per `watchdog`, as long as connections are accepted and no thread hangs
    /// with a lock that builds need.
    std::function<void()> alive;
    /// Called once, on another thread, when the daemon was unused for Configuration::idle_timeout.
    std::function<void()> idle;
  };

  explicit Daemon(Parts parts);

  /// Starts to accept connections. Must be called once.
  [[nodiscard]] Status Start(std::vector<ListeningSocket> sockets);
  /// Waits for a limited time until work in progress has finished. Returns when no client is served
  /// any more.
  void Stop();

  [[nodiscard]] ToolchainRegistry& toolchains() { return toolchains_; }
  /// Returns whether this daemon uses entries of other nodes.
  [[nodiscard]] bool shares() const { return redis_ != nullptr || shelves_ != nullptr; }
  /// Sets the trusted keys. An entry of another node is used only if one of these keys has signed
  /// it.
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
