// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/compile/worker_compiler.h"
#include "daemon/configuration/configuration.h"
#include "daemon/core/build/coordinator.h"
#include "daemon/core/closure/sent_files.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/job_memory.h"
#include "daemon/files/host_files.h"
#include "daemon/housekeeping.h"
#include "daemon/process/log.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/server.h"
#include "daemon/service/transport/listening_socket.h"
#include "daemon/snapshot/node_snapshots.h"
#include "daemon/stores.h"
#include "daemon/toolchain/registry.h"

namespace cccl_cache::daemon {

/// Makes each object that serves once and wires them; each is a member, after those that it uses.
/// For one thread, which made it. What is handed in must outlive it, but for the configuration.
class Daemon {
 public:
  struct Parts {
    const Configuration& configuration;
    std::string worker;                        ///< path of cccl-cached-worker
    std::vector<std::string> own_directories;  ///< nobody reads them through the daemon
    std::optional<gid_t> admin_group;
    Stores& stores;
    Accounts& accounts;
    Log& log;
  };

  explicit Daemon(Parts parts);

  /// Once: accepts from now on.
  [[nodiscard]] Status Start(std::vector<ListeningSocket> sockets);
  /// Lets what is under way finish, for a while. Returns when nobody is served any more.
  void Stop();

  [[nodiscard]] ToolchainRegistry& toolchains() { return toolchains_; }

 private:
  Log& log_;
  LimitedLog cut_offs_;
  LimitedLog zygote_ends_;
  const std::shared_ptr<JobMemory> job_memory_;
  WorkerCompiler compiler_;
  ToolchainRegistry toolchains_;
  HostFileAccess files_;
  const std::shared_ptr<SentContents> sent_contents_;
  BuildCoordinator coordinator_;
  Deposits deposits_;
  CoordinatorBuilder builder_;
  NodeSnapshots snapshots_;
  Server server_;
  Housekeeping housekeeping_;  ///< tells the server what is wrong
};

}  // namespace cccl_cache::daemon
