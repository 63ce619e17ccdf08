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

/// Destroys servers on a thread of its own, in the order in which they were added. A server ends
/// only after the last of its calls, and no other thread should wait for that. Thread-safe.
class RetiredServers {
 public:
  RetiredServers();
  /// Waits until all servers have ended.
  ~RetiredServers();
  RetiredServers(const RetiredServers&) = delete;
  RetiredServers& operator=(const RetiredServers&) = delete;

  /// Adds a server of any kind. The caller must pass the only reference.
  void Add(std::shared_ptr<void> server);
  /// Returns the number of servers that have not ended.
  [[nodiscard]] size_t Count() const;
  /// Returns when the last one has ended.
  void WaitForAll();

 private:
  void Run();

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<void>> servers_ GUARDED_BY(mutex_);  // the first one is ending
  std::thread thread_;
};

/// The servers of all peers. A server is made when a peer with new credentials connects. Servers
/// without connections are kept, up to a maximum number. Thread-safe; must outlive the connections
/// that it returned.
class PeerServers {
 public:
  PeerServers(const PeerServerParts& parts, size_t idle_kept)
      : parts_(parts), idle_kept_(idle_kept) {}
  ~PeerServers();
  PeerServers(const PeerServers&) = delete;
  PeerServers& operator=(const PeerServers&) = delete;

  /// Serves the socket. Closes it and returns null if the peer has too many connections or sets of
  /// groups. Never waits for a call. The result counts the connection until it is destroyed.
  [[nodiscard]] std::unique_ptr<Connection> Connect(FileDescriptor socket, const Peer& peer);
  /// Ends the servers, except each user's first, that had no connection for a while. Must be called
  /// every few seconds.
  void EndIdle();
  /// Shuts all servers down in parallel. Returns when the last one has ended.
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
  /// Removes and returns the least recently used servers without connections that are above the
  /// maximum number to keep.
  [[nodiscard]] std::vector<std::unique_ptr<PeerServer>> TakeSurplus() REQUIRES(mutex_);
  void Ended(const Credentials& credentials, uint64_t served);

  const PeerServerParts parts_;
  const size_t idle_kept_;
  Mutex mutex_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::map<Credentials, Entry> entries_ GUARDED_BY(mutex_);
  std::map<Account, std::weak_ptr<grpc::ResourceQuota>> quotas_ GUARDED_BY(mutex_);
  RetiredServers retired_;  // last: the servers end before the objects whose methods they serve
};

}  // namespace cccl_cache::daemon
