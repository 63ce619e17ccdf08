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
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/hourly_counts.h"
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
  BuildLimits build_limits;  ///< not used by the server, only reported to clients
  uint64_t store_limit = 0;  ///< limit in bytes of ServerSources::stored; only reported to clients
  std::string version;
  std::optional<gid_t> admin_group;       ///< the members of this group may administer the daemon
  std::chrono::milliseconds tick{5'000};  ///< interval of the checks for idle servers and slow
                                          ///< calls
  std::chrono::milliseconds idle_timeout{0};  ///< see ServerSources::report_idle; 0: never
};

/// The objects that produce the responses. All references must outlive the server.
struct ServerSources {
  Builder& builder;
  FairQueue& queue;
  Budget& budget;  ///< for ServerOptions::limits; must outlive all builds of `builder`
  Deposits& deposits;
  Toolchains& toolchains;
  Releases& releases;
  Statistics& statistics;
  HourlyCounts& hours;
  BuildBreakdown& breakdown;
  RecentFailures& failures;
  Snapshots& snapshots;
  Upkeep& upkeep;
  std::shared_ptr<SentContents> sent_contents;  ///< never null
  Accounts& accounts;
  std::function<TierSize()> stored;       ///< returns the size of the largest tier with artifacts
  std::function<BuildGauges()> building;  ///< returns the numbers of running and waiting builds
  std::function<BuildActivity(const Peer&)> activity;  ///< returns the builds that the peer may see
  std::function<std::vector<ZygoteActivity>()> zygotes;
  /// Returns the longest compiles that the peer may see, at most so many.
  std::function<std::vector<UsersBuild>(const Peer&, size_t)> dearest;
  std::function<std::optional<ClusterGauges>()> cluster;  ///< none if sharing is not configured
  std::function<std::optional<ShelfGauges>()> shelves;    ///< none if there are no shelves
  /// Called on the acceptor's thread after a connection was cut off. The argument is one sentence
  /// for the log, with the reason.
  std::function<void(std::string_view)> report_cut_off;
  /// Called on the acceptor's thread when clients can't find the daemon's sockets any more. The
  /// argument is the reason, which health also reports.
  std::function<void(std::string_view)> report_lost_socket;
  /// Called once on the acceptor's thread, when for ServerOptions::idle_timeout no connection was
  /// open and no compile ran or waited. Connections are still accepted then.
  std::function<void()> report_idle;
  /// Called on the acceptor's thread, at intervals of at most twice `tick`, as long as the server
  /// can accept connections.
  std::function<void()> alive;
};

/// The daemon's gRPC server. It accepts connections on Unix sockets, identifies each caller, and
/// serves Build, Deposit, Snapshot, Admin, Info, health and reflection. Thread-safe after Start.
class Server {
 public:
  Server(ServerOptions options, ServerSources sources);
  /// Ends the calls that are still in flight, without a grace period.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Must be called before Start.
  void AddListener(ListeningSocket socket);

  /// Starts to accept connections. Fails if gRPC does not use this process's recvmsg and sendmsg,
  /// because the daemon then can't check what clients send (GuardSocket).
  [[nodiscard]] Status Start();

  /// Sets the text of a problem that keeps the daemon from its work. An empty text means that there
  /// is none. Info and health report the text.
  void SetProblem(std::string problem);

  /// Makes health answer NOT_SERVING from now on. All other services continue.
  void StoppingSoon();

  /// Closes the listening sockets of this process. Open connections continue. If systemd owns the
  /// socket, new connections wait there for the next daemon.
  void StopAccepting();

  /// Stops accepting connections. Calls in flight may continue until the deadline, and are ended
  /// then. Returns after the last call has ended. No function of ServerSources is called after
  /// that.
  void Shutdown(std::chrono::milliseconds deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Makes the thread of each gRPC server wait for the server's own connections. By default one
/// thread of gRPC waits for all connections of the process, and wakes another thread for each
/// event. That costs a third of the time of a hit (docs/internals/decisions/0020). Must be called
/// before gRPC is used and before the process has a second thread. Has no effect if the environment
/// sets GRPC_POLL_STRATEGY.
void WaitForEachServerAlone();

}  // namespace cccl_cache::daemon
