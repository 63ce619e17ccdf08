// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/build/coordinator.h"
#include "daemon/core/closure/sent_files.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/listening_socket.h"

namespace cccl_cache::daemon {

struct ServerOptions {
  ServiceLimits limits;
  BuildLimits build_limits;  ///< only reported to clients
  std::string version;
  std::optional<gid_t> admin_group;  ///< its members are administrators too
};

/// Where the answers come from. All references must outlive the server.
struct ServerSources {
  Builder& builder;
  Deposits& deposits;
  Toolchains& toolchains;
  Statistics& statistics;
  Snapshots& snapshots;
  std::shared_ptr<SentContents> sent_contents;  ///< never null
  Accounts& accounts;
  std::function<TierSize()> stored;       ///< the largest tier that keeps artifacts
  std::function<BuildGauges()> building;  ///< what runs and waits now
  /// For the operator, from the acceptor's thread: a connection was cut off, and why.
  std::function<void(std::string_view)> report_cut_off;
};

/// The daemon's face to its clients: accepts connections on Unix sockets, knows who is calling, and
/// serves Build, Deposit, Snapshot, Admin, Info, health and reflection by gRPC. Thread-safe after
/// Start.
class Server {
 public:
  Server(ServerOptions options, ServerSources sources);
  /// Ends at once what Shutdown did not.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Before Start only.
  void AddListener(ListeningSocket socket);

  /// Accepts from now on. Fails if gRPC does not receive by recvmsg or send by sendmsg:
  /// then what clients send would go unjudged.
  [[nodiscard]] Status Start();

  /// What keeps the daemon from all that it is for; empty: nothing. Told by Info and health.
  void SetProblem(std::string problem);

  /// Health answers NOT_SERVING from now on; everything else goes on.
  void StoppingSoon();

  /// Stops accepting, lets the calls in flight finish until the deadline, then ends them. Returns
  /// when the last one has ended; nothing calls the sources afterwards.
  void Shutdown(std::chrono::milliseconds deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Has gRPC wait for each server's connections by itself, on the server's own thread. By default
/// one thread waits for all of a process and wakes another before it goes to work, which costs a
/// hit a third of its time (docs/internals/decisions/0020). To be called before gRPC is used and
/// before the process has a second thread. Who has set GRPC_POLL_STRATEGY keeps it.
void WaitForEachServerAlone();

}  // namespace cccl_cache::daemon
