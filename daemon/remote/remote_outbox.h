// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/statistics.h"
#include "daemon/remote/deposit_writer.h"
#include "daemon/remote/redis/redis_servers.h"
#include "daemon/remote/remote_entries.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// Sends the entries that this node shares after its builds. A thread compresses, signs and sends
/// them in order. A lease is released only after all entries that were added before it have been
/// written, because waiting nodes look for them then. Only a large deposit, which is written in
/// chunks, lets everything of other places overtake it: it is the result of no lease but its own.
/// Thread-safe; only Finish() blocks.
class RemoteOutbox {
 public:
  struct Options {
    Allowance allowance;            ///< limits of the memory of entries that are not written yet,
                                    ///< in bytes
    uint64_t entry_limit;           ///< limit of one entry in bytes, as it is sent
    std::chrono::seconds lifetime;  ///< an entry expires after this time
    std::chrono::milliseconds chunk_patience{200};  ///< as in DepositWriter
  };

  /// Maximum number of leases that can't be released yet, because entries on other servers are not
  /// written. Above it, the oldest leases are not released; they expire.
  static constexpr size_t kMaxHeld = 1024;

  /// If `key` is null, no entries are written. The other objects must outlive the outbox, but for
  /// `servers`, which are not used after Finish(), and must be destroyed before the outbox.
  RemoteOutbox(const Options& options, const SigningKey* key, RemoteEntries& entries,
               RedisServers& servers, Statistics& statistics);
  ~RemoteOutbox() { Finish(); }

  /// Queues an entry. It is dropped if the account's allowance is used up. `token` is only for a
  /// deposit: see DepositWriter.
  void Write(const EntryName& name, const SharedEntry& entry, Account account,
             std::string token = {});
  /// Queues the removal of these keys from the server of the key `place`, after all work that was
  /// queued before.
  void Remove(std::string place, std::vector<std::string> names);
  /// Queues the release of a lease. The lease stays if another node's token is in it. `place` is
  /// the key whose server has the lease.
  void Release(std::string place, std::string lease, std::string token);
  /// Sends all queued work to the servers, and then returns. The servers may drop unsent commands
  /// when they are destroyed. With several servers, a lease is not released but expires if earlier
  /// entries are still unanswered.
  void Finish();

  /// Returns the memory of the entries that are not written yet, in bytes.
  [[nodiscard]] uint64_t bytes() const;

 private:
  struct Outgoing {
    std::string place;  ///< the key whose server has it; work for one place keeps its order
    EntryName entry_name = {};
    SharedEntry entry = {};  ///< empty: a lease is released, or entries are removed
    Account account = Account(0);
    uint64_t bytes = 0;
    std::string token = {};  ///< of the lease on a deposit, or that is released
    std::string lease = {};  ///< the lease that is released; empty: none is
    std::vector<std::string> removed = {};
  };
  /// An entry that was sent, until the reply arrives.
  struct Sent {
    uint64_t number = 0;  ///< 0 for a deposit, whose lease has the same server
    Account account;
    uint64_t bytes = 0;
  };
  /// A lease that is released when all writes up to number `after` are answered.
  struct Held {
    uint64_t after = 0;
    Outgoing release;
  };

  void Queue(Outgoing outgoing) REQUIRES(mutex_);
  void Run();
  /// Waits for work. Returns none at the end.
  [[nodiscard]] std::optional<Outgoing> Await();
  /// Returns the first work of the queue that may be sent now; none if there is none.
  [[nodiscard]] std::optional<Outgoing> Take(std::deque<Outgoing>& queue) REQUIRES(mutex_);
  void SendWaiting();
  void Send(const Outgoing& outgoing);
  void SendEntry(const Outgoing& outgoing);
  void EndWrite(const Sent& sent, WriteEnd end);
  void SendRelease(const Outgoing& outgoing);

  const Options options_;
  const SigningKey* const key_;
  RemoteEntries& entries_;
  RedisServers& servers_;
  Statistics& statistics_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Outgoing> waiting_ GUARDED_BY(mutex_);
  // Large deposits, and later work for their places.
  std::deque<Outgoing> large_ GUARDED_BY(mutex_);
  std::string sending_ GUARDED_BY(mutex_);  ///< the place of the work of large_ that is being sent
  std::map<Account, uint64_t> bytes_of_ GUARDED_BY(mutex_);  // accounts without bytes have no entry
  HeldInAll bytes_ GUARDED_BY(mutex_);
  uint64_t last_write_ GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> unanswered_ GUARDED_BY(mutex_);  ///< numbers of unanswered writes
  std::deque<Held> held_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;

  DepositWriter deposits_;  ///< used by the thread
  std::thread thread_;
};

}  // namespace cccl_cache::daemon
