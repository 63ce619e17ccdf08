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
  uint64_t store_limit = 0;  ///< limit of `stored` in bytes; only reported to clients
  std::string version;
  std::optional<gid_t> admin_group;       ///< its members are administrators too
  std::chrono::milliseconds tick{5'000};  ///< between checks for idle and slow connections
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
  std::function<TierSize()> stored;       ///< returns the size of the largest tier with artifacts
  std::function<BuildGauges()> building;  ///< returns the running and the waiting
                                          ///< builds
  std::function<BuildActivity(const Peer&)> activity;  ///< the same, as far as this peer may see it
  std::function<std::vector<ZygoteActivity>()> zygotes;
  std::function<std::optional<ClusterGauges>()> cluster;  ///< none if the node shares nothing
  std::function<std::optional<ShelfGauges>()> shelves;    ///< none if there are no shelves
  /// Called on the acceptor's thread after a connection was cut off. The text has the reason for
  /// the operator.
  std::function<void(std::string_view)> report_cut_off;
  /// Called on the acceptor's thread when clients can't find the daemon's sockets any more. The
  /// text has the reason, which health reports too.
  std::function<void(std::string_view)> report_lost_socket;
  /// Called on the acceptor's thread at least every two `tick`, as long as it can accept
  /// connections.
  std::function<void()> alive;
};

/// The daemon's gRPC server. It accepts connections on Unix sockets, identifies each caller, and
/// serves Build, Deposit, Snapshot, Admin, Info, health and reflection. Thread-safe after Start.
class Server {
 public:
  Server(ServerOptions options, ServerSources sources);
  /// Ends all calls at once that Shutdown has not ended.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Must be called before Start.
  void AddListener(ListeningSocket socket);

  /// Starts to accept connections. Fails if gRPC does not receive by recvmsg or send by sendmsg,
  /// because the daemon could not check clients' bytes then.
  [[nodiscard]] Status Start();

  /// Sets the problem that stops the daemon's work. Empty for none. Info and health report it.
  void SetProblem(std::string problem);

  /// Makes health answer NOT_SERVING from now on. All other services continue.
  void StoppingSoon();

  /// Closes the listening sockets. Open connections stay. New connections wait at systemd's socket
  /// for the next daemon.
  void StopAccepting();

  /// Stops accepting, lets the calls in flight finish until the deadline, then ends them. Returns
  /// after the last call has ended. Nothing calls the sources after that.
  void Shutdown(std::chrono::milliseconds deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Makes each gRPC server wait for its connections on its own thread. By default one thread waits
/// for all connections of the process, and wakes another thread before it handles an event. That
/// costs a third of the time of a hit (docs/internals/decisions/0020). Must be called before gRPC
/// is used and before the process has a second thread. An existing GRPC_POLL_STRATEGY does not
/// change.
void WaitForEachServerAlone();

}  // namespace cccl_cache::daemon
