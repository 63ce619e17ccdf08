// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "daemon/core/file_descriptor.h"
#include "daemon/core/peer.h"
#include "daemon/service/admin_service.h"
#include "daemon/service/build_backend.h"
#include "daemon/service/build_service.h"
#include "daemon/service/deposit_service.h"
#include "daemon/service/health.h"
#include "daemon/service/health_service.h"
#include "daemon/service/info_service.h"
#include "daemon/service/reflection_service.h"
#include "daemon/service/snapshot_service.h"

namespace cccl_cached {

/// What the servers of all peers share. Outlives them.
struct PeerServerParts {
  BuildBackend& backend;
  const AdminSources& admin;
  const cccl_cache::v1::InfoReply& info;
  Health& health;
  const SnapshotSources& snapshots;
};

/// A gRPC server for the connections of one set of credentials: whose calls these are is a fact of
/// this object and not looked up. Costs some tens of microseconds to start, and no thread.
/// Thread-safe.
class PeerServer {
 public:
  PeerServer(Peer credentials, const PeerServerParts& parts);
  ~PeerServer();
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  /// False if gRPC could not start it.
  [[nodiscard]] bool started() const { return server_ != nullptr; }
  /// A connection whose peer has this server's credentials, and the pid.
  void Serve(FileDescriptor socket, pid_t pid);
  /// Ends every connection: at once those without calls, the others when their calls end or the
  /// deadline comes.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  [[nodiscard]] Peer PeerOf(const grpc::CallbackServerContext& context) const;
  void Start(const ServiceLimits& limits);

  const Peer credentials_;
  mutable std::mutex mutex_;
  std::map<int, pid_t> pids_;  // guarded by mutex_; by descriptor: for the log only, see Peer
  BuildService build_;
  DepositService deposit_;
  SnapshotService snapshot_;
  AdminService admin_;
  InfoService info_;
  HealthService health_;
  ReflectionService reflection_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace cccl_cached
