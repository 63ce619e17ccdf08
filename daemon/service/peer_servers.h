// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "daemon/core/model/file_descriptor.h"
#include "daemon/core/model/peer.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/peer_server.h"
#include "daemon/service/retired_servers.h"
#include "daemon/service/transport/acceptor.h"

namespace cccl_cache::daemon {

/// The servers of all peers, made when somebody with new credentials connects. Those without
/// connections are kept, up to a number. Thread-safe; must outlive the connections that it
/// returned.
class PeerServers {
 public:
  PeerServers(const PeerServerParts& parts, size_t idle_kept)
      : parts_(parts), idle_kept_(idle_kept) {}
  ~PeerServers();
  PeerServers(const PeerServers&) = delete;
  PeerServers& operator=(const PeerServers&) = delete;

  /// Serves the socket, or closes it if the peer has too many connections or sets of groups
  /// already. Waits for no call of anybody. The result counts the connection until it is destroyed.
  [[nodiscard]] std::unique_ptr<Connection> Connect(FileDescriptor socket, const Peer& peer);
  /// Ends what servers have had no connection for a while, but each user's first. To be called
  /// every few seconds.
  void EndIdle();
  /// All at once; returns when the last one has ended.
  void Shutdown(std::chrono::milliseconds deadline);

 private:
  using Credentials = std::tuple<Account, uid_t, bool, gid_t, std::vector<gid_t>>;
  struct Entry {
    std::unique_ptr<PeerServer> server;
    size_t connections = 0;
    uint64_t last_used = 0;
  };
  class OpenConnection;

  [[nodiscard]] static Credentials CredentialsOf(const Peer& peer);
  [[nodiscard]] Entry* EntryOf(const Peer& peer);
  [[nodiscard]] std::shared_ptr<grpc::ResourceQuota> QuotaOf(Account account);
  /// Of those without connections the least recently used ones, down to the number that is kept.
  [[nodiscard]] std::vector<std::unique_ptr<PeerServer>> TakeSurplus();
  void Ended(const Credentials& credentials, uint64_t served);

  const PeerServerParts parts_;
  const size_t idle_kept_;
  std::mutex mutex_;
  bool stopped_ = false;                                          // guarded by mutex_
  uint64_t uses_ = 0;                                             // guarded by mutex_
  std::map<Credentials, Entry> entries_;                          // guarded by mutex_
  std::map<Account, std::weak_ptr<grpc::ResourceQuota>> quotas_;  // guarded by mutex_
  RetiredServers retired_;  // last: they end before those whose methods they serve
};

}  // namespace cccl_cache::daemon
