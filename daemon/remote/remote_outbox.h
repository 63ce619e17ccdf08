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

/// The entries that this node shares after its builds: a thread compresses, signs and sends them. A
/// lease is released after all entries that were added before it have been written. Thread-safe;
/// only Finish() blocks.
class RemoteOutbox {
 public:
  struct Options {
    Allowance allowance;            ///< limit of unwritten artifacts, in bytes of memory
    uint64_t entry_limit;           ///< limit of one entry in bytes, as sent
    std::chrono::seconds lifetime;  ///< of an entry
  };

  /// Maximum number of leases that wait for entries at other servers. Above it, the oldest are left
  /// to expire.
  static constexpr size_t kMaxHeld = 1024;

  /// `key` may be null: then no entries are written. Arguments must outlive the outbox, except
  /// `servers`, which is not used after Finish() and must be destroyed first.
  RemoteOutbox(const Options& options, const SigningKey* key, RedisServers& servers,
               Statistics& statistics);
  ~RemoteOutbox() { Finish(); }

  /// Queues an entry under this name. It is dropped if the account's allowance is used up.
  void Write(std::string name, const EntryName& entry_name, const SharedEntry& entry,
             Account account);
  /// Removes an entry, after the entries that were added before.
  void Remove(std::string name);
  /// Releases a lease, unless its holder has another token.
  void Release(std::string lease, std::string token);
  /// Returns when all queued work was passed to the servers, which may still drop it when they end.
  /// With several servers, a lease whose entries are still unanswered is left to expire.
  void Finish();

  /// Returns the bytes of artifacts that are not written yet.
  [[nodiscard]] uint64_t bytes() const;

 private:
  struct Outgoing {
    std::string name;
    std::string token = {};  ///< of the lease that ends
    EntryName entry_name = {};
    SharedEntry entry = {};  ///< empty without a token: the entry is removed
    Account account = Account(0);
    uint64_t bytes = 0;
  };
  /// An entry that was sent.
  struct Sent {
    uint64_t number = 0;
    Account account;
    uint64_t bytes = 0;
  };
  /// A lease to be released once no write up to number `after` is unanswered.
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
  std::map<Account, uint64_t> bytes_of_ GUARDED_BY(mutex_);  // without zeros
  HeldInAll bytes_ GUARDED_BY(mutex_);
  uint64_t last_write_ GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> unanswered_ GUARDED_BY(mutex_);  ///< numbers of writes
  std::deque<Held> held_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace cccl_cache::daemon
