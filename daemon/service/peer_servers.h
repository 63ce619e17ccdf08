// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/peer_server.h"
#include "daemon/service/transport/acceptor.h"

namespace cccl_cache::daemon {

/// Destroys gRPC servers on a background thread, in the order of Add. The destructor of a server
/// waits for its last call, and no other thread should wait for that. Thread-safe.
class RetiredServers {
 public:
  RetiredServers();
  /// Waits until all servers have ended.
  ~RetiredServers();
  RetiredServers(const RetiredServers&) = delete;
  RetiredServers& operator=(const RetiredServers&) = delete;

  /// Adds the object that owns a server. The caller must pass the only reference to it.
  void Add(std::shared_ptr<void> server);
  /// Returns the number of servers that have not ended yet.
  [[nodiscard]] size_t Count() const;
  /// Returns after the last server has ended.
  void WaitForAll();

 private:
  void Run();

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<void>> servers_ GUARDED_BY(mutex_);  // the first one is being
                                                                  // destroyed
  std::thread thread_;
};

/// Owns one PeerServer for each set of credentials. A PeerServer is made when the first peer with
/// these credentials connects. The `idle_kept` most recently used ones are kept without
/// connections. Thread-safe. Must outlive the connections that Connect returns.
class PeerServers {
 public:
  PeerServers(const PeerServerParts& parts, size_t idle_kept)
      : parts_(parts), idle_kept_(idle_kept) {}
  ~PeerServers();
  PeerServers(const PeerServers&) = delete;
  PeerServers& operator=(const PeerServers&) = delete;

  /// Serves the connection. Closes the socket and returns null if its account has too many
  /// connections or servers, or its uid too many different sets of groups. Never waits for the end
  /// of a call. The returned object counts the connection until it is destroyed.
  [[nodiscard]] std::unique_ptr<Connection> Connect(FileDescriptor socket, const Peer& peer);
  /// Ends the servers that PeerServer::TakeIdle returns. Must be called every few seconds.
  void EndIdle();
  /// Shuts down all servers in parallel. Their calls may continue until the deadline. Returns after
  /// the last server has ended.
  void Shutdown(std::chrono::milliseconds deadline);

 private:
  using Credentials = std::tuple<Account, uid_t, bool, FileReach, gid_t, std::vector<gid_t>>;
  struct Entry {
    std::unique_ptr<PeerServer> server;
    size_t connections = 0;
    uint64_t last_used = 0;
  };
  class OpenConnection;

  [[nodiscard]] static Credentials CredentialsOf(const Peer& peer);
  [[nodiscard]] Entry* EntryOf(const Peer& peer) REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<grpc::ResourceQuota> QuotaOf(Account account) REQUIRES(mutex_);
  /// Removes the PeerServers without connections, except the idle_kept_ most recently used ones,
  /// and returns them.
  [[nodiscard]] std::vector<std::unique_ptr<PeerServer>> TakeSurplus() REQUIRES(mutex_);
  void Ended(const Credentials& credentials, uint64_t served);

  const PeerServerParts parts_;
  const size_t idle_kept_;
  Mutex mutex_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::map<Credentials, Entry> entries_ GUARDED_BY(mutex_);
  std::map<Account, std::weak_ptr<grpc::ResourceQuota>> quotas_ GUARDED_BY(mutex_);
  RetiredServers retired_;  // last member: it uses the objects above until its servers have ended
};

}  // namespace cccl_cache::daemon
