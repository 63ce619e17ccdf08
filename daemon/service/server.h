// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/closure/sent_files.h"
#include "daemon/core/coordinator/breakdown.h"
#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/coordinator/recent_failures.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/releases.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/core/model/upkeep.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/transport/listening_socket.h"

namespace cccl_cache::daemon {

struct ServerOptions {
  ServiceLimits limits;
  BuildLimits build_limits;  ///< only reported to clients
  uint64_t store_limit = 0;  ///< bytes that `stored` may reach; only reported to clients
  std::string version;
  std::optional<gid_t> admin_group;       ///< its members are administrators too
  std::chrono::milliseconds tick{5'000};  ///< between checks of what is idle or slow
};

/// The objects that produce the responses. All references must outlive the server.
struct ServerSources {
  Builder& builder;
  Budget& budget;  ///< made of ServerOptions::limits; must outlive the builder's builds
  Deposits& deposits;
  Toolchains& toolchains;
  Releases& releases;
  Statistics& statistics;
  BuildBreakdown& breakdown;
  RecentFailures& failures;
  Snapshots& snapshots;
  Upkeep& upkeep;
  std::shared_ptr<SentContents> sent_contents;  ///< never null
  Accounts& accounts;
  std::function<TierSize()> stored;  ///< returns the size of the largest tier that keeps artifacts
  std::function<BuildGauges()> building;               ///< returns the builds that run and wait now
  std::function<BuildActivity(const Peer&)> activity;  ///< the same, as this peer may see them
  std::function<std::vector<ZygoteActivity>()> zygotes;
  std::function<std::optional<ClusterGauges>()> cluster;  ///< none: there are no other nodes
  std::function<std::optional<ShelfGauges>()> shelves;    ///< none: there are none
  /// Called on the acceptor's thread when a connection was cut off. The text tells the operator
  /// why.
  std::function<void(std::string_view)> report_cut_off;
  /// Called on the acceptor's thread when clients don't find the daemon's sockets any more. The
  /// text gives the reason, which health reports, too.
  std::function<void(std::string_view)> report_lost_socket;
  /// Called on the acceptor's thread at least every two `tick`, while it can accept connections.
  std::function<void()> alive;
};

/// The daemon's gRPC server. It accepts connections on Unix sockets, identifies each caller, and
/// serves Build, Deposit, Snapshot, Admin, Info, health and reflection. Thread-safe after Start.
class Server {
 public:
  Server(ServerOptions options, ServerSources sources);
  /// Ends at once all calls that Shutdown did not end.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Must be called before Start.
  void AddListener(ListeningSocket socket);

  /// Starts to accept connections. Fails if gRPC does not receive by recvmsg or send by sendmsg,
  /// because the daemon could then not check the bytes that clients send.
  [[nodiscard]] Status Start();

  /// Sets the problem that keeps the daemon from its work; empty means none. Info and health report
  /// it.
  void SetProblem(std::string problem);

  /// Makes health answer NOT_SERVING from now on. All other services continue.
  void StoppingSoon();

  /// Closes the listening sockets. Connections that are open stay. New ones wait at a socket of
  /// systemd's for the next daemon.
  void StopAccepting();

  /// Stops accepting, lets the calls in flight finish until the deadline, then ends them. Returns
  /// when the last call has ended. Nothing calls the sources afterwards.
  void Shutdown(std::chrono::milliseconds deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Makes each gRPC server wait for its connections on its own thread. By default one thread waits
/// for all connections of the process and wakes another thread before it handles an event. That
/// costs a third of the time of a hit (docs/internals/decisions/0020). Must be called before gRPC
/// is used and before the process has a second thread. If GRPC_POLL_STRATEGY is set, it keeps its
/// value.
void WaitForEachServerAlone();

}  // namespace cccl_cache::daemon
