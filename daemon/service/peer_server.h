// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/resource_quota.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/core/model/peer.h"
#include "daemon/service/calls/admin_service.h"
#include "daemon/service/calls/health.h"
#include "daemon/service/calls/reflection.h"
#include "daemon/service/calls/services.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/transport/call_server.h"

namespace cccl_cache::daemon {

/// What the servers of all peers share. Outlives them.
struct PeerServerParts {
  BuildBackend& backend;
  const AdminSources& admin;
  const cccl_cache::v1::InfoReply& info;
  Health& health;
  const SnapshotSources& snapshots;
};

/// gRPC servers for the connections of one set of credentials: whose calls these are is a fact of
/// this object and not looked up. One server, with one thread, for a first connection; others for
/// further ones where there are processors for it, or where those that there are have enough. These
/// are given back when they have had no connection for a while. Thread-safe.
class PeerServer {
 public:
  /// `quota`: gRPC's own, of all servers of the account.
  PeerServer(Peer credentials, const PeerServerParts& parts,
             std::shared_ptr<grpc::ResourceQuota> quota);
  ~PeerServer();
  PeerServer(const PeerServer&) = delete;
  PeerServer& operator=(const PeerServer&) = delete;

  /// False if the account may have no server now, or gRPC could not start it.
  [[nodiscard]] bool started() const { return !servers_.empty(); }
  /// A connection whose peer has these credentials, and the pid. Returns what is to be told when it
  /// has ended.
  [[nodiscard]] uint64_t Serve(FileDescriptor socket, pid_t pid);
  void Ended(uint64_t served);
  /// The servers, but for the first one, that have had no connection for as long as the limits say:
  /// the caller ends them, before this object.
  [[nodiscard]] std::vector<std::shared_ptr<void>> TakeIdle();
  /// Ends every connection: at once those without calls, the others when their calls end or the
  /// deadline comes.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  [[nodiscard]] Peer PeerOf(const CallStream& stream) const;
  struct Served {
    Share share;  ///< given back once the server has ended
    std::unique_ptr<CallServer> server;
    size_t connections = 0;
    std::chrono::steady_clock::time_point idle_since{};  ///< without connections
  };
  using Servers = std::map<uint64_t, Served>;
  /// False if the account may have no other one now, or gRPC could not start it.
  bool StartServer();
  /// The server that gets the next connection; mutex_ is held.
  [[nodiscard]] Servers::iterator LeastBusy();

  const Peer credentials_;
  Budget& budget_;
  const ServiceLimits& limits_;
  mutable std::mutex mutex_;
  std::map<int, pid_t> pids_;  // guarded by mutex_; by descriptor: for the log only, see Peer
  BuildService build_;
  DepositService deposit_;
  SnapshotService snapshot_;
  AdminService admin_;
  InfoService info_;
  HealthService health_;
  ReflectionService reflection_;
  MethodTable methods_;
  const std::shared_ptr<grpc::ResourceQuota> quota_;
  Servers servers_;           // guarded by mutex_; in the order of their coming
  uint64_t next_server_ = 0;  // guarded by mutex_
};

/// Does this with each item, on as many threads; returns when the last one is done. Where no thread
/// is to be had the caller's own does it, so what is to be done must end by a deadline of its own.
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
