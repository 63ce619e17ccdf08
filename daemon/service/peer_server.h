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

/// The parts that the servers of all peers share. They outlive the servers.
struct PeerServerParts {
  BuildBackend& backend;
  const AdminSources& admin;
  const cccl_cache::v1::InfoReply& info;
  Health& health;
  const SnapshotSources& snapshots;
  const DaemonsRights& rights;
};

/// The gRPC servers for the connections of one set of credentials. The object has the caller's
/// identity, so that calls need no look-up. The first connection gets a server with one thread. A
/// further connection gets a further server if there are processors for it, or if the existing
/// servers have enough connections. A further server is removed after a while without connections.
/// Thread-safe.
class PeerServer {
 public:
  /// `quota`: gRPC's resource quota, shared by all servers of the account.
  PeerServer(Peer credentials, const PeerServerParts& parts,
             std::shared_ptr<grpc::ResourceQuota> quota);
  ~PeerServer();
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  /// Returns false if the account may have no server now, or if gRPC could not start a server.
  [[nodiscard]] bool started() const;
  /// Serves a connection of a peer with these credentials and the process id `pid`. Returns the
  /// number that the caller passes to Ended() after the connection has ended.
  [[nodiscard]] uint64_t Serve(FileDescriptor socket, pid_t pid);
  void Ended(uint64_t served);
  /// Returns the further servers that had no connection for the time in the limits. The caller
  /// destroys them before this object.
  [[nodiscard]] std::vector<std::shared_ptr<void>> TakeIdle();
  /// Ends every connection. A connection without calls ends at once. Other connections end with
  /// their calls, or at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  struct Connection {
    pid_t pid;        ///< only for the log; see Peer
    FileReach reach;  ///< of its calls
    bool has_called = false;
  };
  /// Reads the proof of rights in the first call of a connection, if it has one.
  void Look(const CallStream& stream);
  /// Returns the caller, with the reach of its connection.
  [[nodiscard]] Peer PeerOf(const CallStream& stream) const;
  struct Served {
    Share share;  ///< released after the server has ended
    std::unique_ptr<CallServer> server;
    size_t connections = 0;
    std::chrono::steady_clock::time_point idle_since{};  ///< end of its last connection
  };
  using Servers = std::map<uint64_t, Served>;
  /// Returns false if the account may have no further server now, or if gRPC could not start a
  /// server.
  bool StartServer() REQUIRES(mutex_);
  /// Returns the server that gets the next connection.
  [[nodiscard]] Servers::iterator LeastBusy() REQUIRES(mutex_);

  const Peer credentials_;
  Budget& budget_;
  const DaemonsRights& rights_;
  const ServiceLimits& limits_;
  mutable Mutex mutex_;
  /// By descriptor. gRPC closes a descriptor only after the last call of its connection is freed,
  /// so a call finds its own connection.
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

/// Calls `work` with each item, on one thread per item. Returns after the last call. If no thread
/// can be started, `work` runs on the caller's thread, so it must have its own deadline.
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
