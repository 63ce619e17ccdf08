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
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/statistics.h"
#include "daemon/remote/redis/redis_servers.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// Sends the entries that this node shares after its builds. A thread compresses, signs and sends
/// them. A lease is released only after all entries that were added before it have been written.
/// Thread-safe; only Finish() blocks.
class RemoteOutbox {
 public:
  struct Options {
    Allowance allowance;            ///< limits of the memory of entries that are not written yet,
                                    ///< in bytes
    uint64_t entry_limit;           ///< limit of one entry in bytes, as it is sent
    std::chrono::seconds lifetime;  ///< an entry expires after this time
    /// A chunk that is not answered in this time ends the write of its deposit.
    std::chrono::milliseconds chunk_patience{200};
  };

  /// Maximum number of leases that can't be released yet, because entries on other servers are not
  /// written. Above it, the oldest leases are not released; they expire.
  static constexpr size_t kMaxHeld = 1024;

  /// If `key` is null, no entries are written. `key` and `statistics` must outlive the outbox.
  /// `servers` is not used after Finish(), and must be destroyed before the outbox.
  RemoteOutbox(const Options& options, const SigningKey* key, RedisServers& servers,
               Statistics& statistics);
  ~RemoteOutbox() { Finish(); }

  /// The lease under which a deposit was made. The deposit is not written if another node holds the
  /// lease now. If no node holds it, the deposit is written only if there is none.
  struct Fence {
    std::string place;  ///< the key whose server has the lease, and the deposit with its chunks
    std::string lease;
    std::string token;  ///< empty: this node did not hold the lease
    std::string other;  ///< the key of the deposit's other form, which a write removes: one entry,
                        ///< or a list of chunks
  };

  /// Queues an entry under this name. The entry is dropped if the account's allowance is used up.
  /// `fence` is only for a deposit. If `entry_name` is that of a list of chunks, the deposit is
  /// written in chunks, NAME:0 and so on, and the list last.
  void Write(std::string name, const EntryName& entry_name, const SharedEntry& entry,
             Account account, std::optional<Fence> fence = std::nullopt);
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
    std::string name;
    std::string place = {};  ///< of a lease: the key whose server has it
    std::string token = {};  ///< token of the lease; empty if no lease is released
    EntryName entry_name = {};
    SharedEntry entry = {};  ///< if this and `token` are empty, the entry is removed
    Account account = Account(0);
    uint64_t bytes = 0;
    std::optional<Fence> fence = std::nullopt;
    std::vector<std::string> removed = {};
  };
  /// An entry that was sent, until the reply arrives.
  struct Sent {
    uint64_t number = 0;
    Account account;
    uint64_t bytes = 0;
  };
  /// A lease that is released when all writes up to number `after` are answered.
  struct Held {
    uint64_t after = 0;
    Outgoing release;
  };

  enum class WriteEnd { kWritten, kFenced, kFailed };
  [[nodiscard]] static WriteEnd EndOf(const RedisReply* reply);

  void Run();
  void Send(const Outgoing& outgoing);
  void SendEntry(const Outgoing& outgoing);
  /// Writes one chunk after the other, so that other commands do not wait long behind them. Returns
  /// the list of the chunks, or else how the write of a chunk ended.
  [[nodiscard]] std::variant<SharedEntry, WriteEnd> SendChunks(const Outgoing& outgoing);
  [[nodiscard]] WriteEnd SendChunk(const Outgoing& outgoing, size_t index, std::string_view stored);
  /// Sends a write of these bytes. Returns false, and never calls `then`, as RedisServers::Send.
  bool SendBytes(const Outgoing& outgoing, const std::string& name, std::string_view bytes,
                 RedisServers::Then then);
  void EndWrite(const Sent& sent, WriteEnd end);
  void SendRelease(const Outgoing& outgoing);

  const Options options_;
  const SigningKey* const key_;
  RedisServers& servers_;
  Statistics& statistics_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Outgoing> waiting_ GUARDED_BY(mutex_);
  std::map<Account, uint64_t> bytes_of_ GUARDED_BY(mutex_);  // accounts without bytes have no entry
  HeldInAll bytes_ GUARDED_BY(mutex_);
  uint64_t last_write_ GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> unanswered_ GUARDED_BY(mutex_);  ///< numbers of unanswered writes
  std::deque<Held> held_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace cccl_cache::daemon
