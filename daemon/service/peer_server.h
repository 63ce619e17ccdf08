// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/resource_quota.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/service/calls/admin_service.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/health.h"
#include "daemon/service/calls/reflection.h"
#include "daemon/service/calls/services.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/daemons_rights.h"
#include "daemon/service/transport/call_server.h"

namespace cccl_cache::daemon {

/// The objects that all PeerServers share. They must outlive every PeerServer.
struct PeerServerParts {
  BuildBackend& backend;
  const AdminSources& admin;
  const cccl_cache::v1::InfoReply& info;
  Health& health;
  const SnapshotSources& snapshots;
  const DaemonsRights& rights;
};

/// The gRPC servers for all connections with the same credentials (account, uid, groups, rights).
/// The credentials are stored here, so that a call need not look them up. The first connection gets
/// a server with one thread. A further connection gets a further server if the machine has
/// processors for it, or if each server already has ServiceLimits::connections_per_server
/// connections. A further server is removed after some time without connections. Thread-safe.
class PeerServer {
 public:
  /// `quota` is gRPC's limit of memory for all servers of the account together.
  PeerServer(Peer credentials, const PeerServerParts& parts,
             std::shared_ptr<grpc::ResourceQuota> quota);
  ~PeerServer();
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  /// Returns whether the constructor has started a server. It has not if the account may have no
  /// more servers now, or if gRPC failed.
  [[nodiscard]] bool started() const;
  /// Serves a connection of the process `pid`, whose credentials must be those of this object.
  /// Returns the number of the gRPC server. The caller must pass it to Ended() when the connection
  /// has ended.
  [[nodiscard]] uint64_t Serve(FileDescriptor socket, pid_t pid);
  void Ended(uint64_t served);
  /// Removes and returns the gRPC servers, except the first one, that had no connection for
  /// ServiceLimits::idle_server_kept. The caller must destroy them before this object.
  [[nodiscard]] std::vector<std::shared_ptr<void>> TakeIdle();
  /// Ends every connection. A connection without calls ends at once. Any other connection ends
  /// after its last call, or at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  struct Connection {
    pid_t pid;        ///< only for logs and views; see Peer
    FileReach reach;  ///< the files that the daemon may open for its calls
    bool has_called = false;
  };
  /// Checks the first call of each connection for a proof of the daemon's rights (DaemonsRights). A
  /// valid proof extends the reach of the connection to all files that the daemon can read.
  void Look(const CallStream& stream);
  /// Returns the peer that makes this call, with the pid and the reach of the call's connection.
  [[nodiscard]] Peer PeerOf(const CallStream& stream) const;
  struct Served {
    Share share;  ///< declared first, so that it is released after the server has ended
    std::unique_ptr<CallServer> server;
    size_t connections = 0;
    std::chrono::steady_clock::time_point idle_since{};  ///< when the last connection ended
  };
  using Servers = std::map<uint64_t, Served>;
  /// Starts one more gRPC server. Returns false if the account may have no more servers now, or if
  /// gRPC failed.
  bool StartServer() REQUIRES(mutex_);
  /// Returns the gRPC server for the next connection: a new one if PeerServer's rules allow it,
  /// else the one with the fewest connections.
  [[nodiscard]] Servers::iterator LeastBusy() REQUIRES(mutex_);

  const Peer credentials_;
  Budget& budget_;
  const DaemonsRights& rights_;
  const ServiceLimits& limits_;
  mutable Mutex mutex_;
  /// Keyed by descriptor. gRPC closes a descriptor only after it has freed the last call of the
  /// connection, so a call never finds a later connection with the same descriptor.
  std::map<int, Connection> connections_ GUARDED_BY(mutex_);
  BuildService build_;
  DepositService deposit_;
  SnapshotService snapshot_;
  AdminService admin_;
  InfoService info_;
  HealthService health_;
  ReflectionService reflection_;
  MethodTable methods_;
  const std::shared_ptr<grpc::ResourceQuota> quota_;
  Servers servers_ GUARDED_BY(mutex_);  // in the order of their start
  uint64_t next_server_ GUARDED_BY(mutex_) = 0;
};

/// Calls `work` with each item, on one thread per item. Returns after the last call. If a thread
/// can't be started, that call of `work` runs on the caller's thread and delays the others. `work`
/// must therefore end by a deadline of its own.
template <typename Items, typename Work>
void ParallelFor(Items& items, const Work& work) {
  std::vector<std::thread> threads;
  threads.reserve(items.size());
  for (auto& item : items) {
    try {
      threads.emplace_back([&work, &item] { work(item); });
    } catch (const std::system_error&) {
      work(item);
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cccl_cache::daemon
