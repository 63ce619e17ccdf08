// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/statistics.h"
#include "daemon/remote/redis_servers.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// The entries that this node shares, after its builds: a thread compresses, signs and sends them.
/// A lease ends after all entries that were given before it have been written. Thread-safe; nothing
/// blocks but Finish().
class RemoteOutbox {
 public:
  struct Options {
    Allowance allowance;   ///< bytes of artifacts that are not written, as they are in memory
    uint64_t entry_limit;  ///< bytes, as they are sent
    std::chrono::seconds lifetime;  ///< of an entry
  };

  /// Maximum number of leases whose end waits for entries at other servers. Above it, the oldest
  /// expire.
  static constexpr size_t kMaxHeld = 1024;

  /// The key may be null: then only leases end. It, the statistics and the servers must outlive the
  /// outbox, but the servers are not used after Finish() and must end before the outbox.
  RemoteOutbox(const Options& options, const SigningKey* key, RedisServers& servers,
               Statistics& statistics);
  ~RemoteOutbox() { Finish(); }

  /// Writes an entry under this name. It is dropped if the account has used up its allowance.
  void Write(std::string name, const SharedEntry& entry, const ArtifactPtr& artifact,
             Account account);
  /// Removes an entry, after those that were given before it.
  void Remove(std::string name);
  /// Ends a lease, unless its holder has another token.
  void Release(std::string lease, std::string token);
  /// Returns when all waiting work was given to the servers, which may still drop it when they end.
  /// With several servers, leases whose entries are unanswered by then expire.
  void Finish();

  /// Bytes of artifacts that are not written yet.
  [[nodiscard]] uint64_t bytes() const;

 private:
  struct Outgoing {
    std::string name;
    std::string token = {};  ///< of the lease that ends
    SharedEntry entry = {};
    ArtifactPtr artifact = nullptr;  ///< null without a token: the entry is removed
    Account account = Account(0);
    uint64_t bytes = 0;
  };
  /// An entry that was sent.
  struct Sent {
    uint64_t number = 0;
    Account account;
    uint64_t bytes = 0;
  };
  /// A lease that ends once no write up to this one is unanswered.
  struct Held {
    uint64_t after = 0;
    Outgoing release;
  };

  void Run();
  void Send(const Outgoing& outgoing);
  void SendEntry(const Outgoing& outgoing);
  void EndWrite(const Sent& sent, bool written);
  void SendRelease(const Outgoing& outgoing);

  const Options options_;
  const SigningKey* const key_;
  RedisServers& servers_;
  Statistics& statistics_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Outgoing> waiting_ GUARDED_BY(mutex_);
  std::map<Account, uint64_t> bytes_of_ GUARDED_BY(mutex_);  // only those that have some
  HeldInAll bytes_ GUARDED_BY(mutex_);
  uint64_t last_write_ GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> unanswered_ GUARDED_BY(mutex_);  ///< writes
  std::deque<Held> held_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace cccl_cache::daemon
