// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/mutex.h"
#include "daemon/core/model/cluster.h"
#include "daemon/remote/redis/redis_servers.h"
#include "daemon/remote/remote_entries.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// How the write of an entry ended. kFenced: another node holds the lease on the deposit, or has
/// written the deposit.
enum class WriteEnd : uint8_t { kWritten, kFenced, kFailed };
/// Returns the end that a reply means; null if the connection was lost.
[[nodiscard]] WriteEnd EndOf(const RedisReply* reply);

/// Writes deposits to Redis, as one entry or in chunks. Each write is fenced: if another node holds
/// the lease on the deposit, nothing is written. If no node holds it, the deposit is written only
/// if there is none. What this node can't verify counts as nothing. For one thread, but for Stop().
class DepositWriter {
 public:
  struct Options {
    uint64_t entry_limit = 0;          ///< in bytes, of one entry as it is sent
    std::chrono::seconds lifetime{0};  ///< a deposit expires after this time
    /// A chunk that is not answered in this time ends the write of its deposit. A look that is not
    /// answered in this time finds nothing that can't be verified.
    std::chrono::milliseconds chunk_patience{0};
  };
  struct Deposit {
    EntryName name;     ///< if it is that of a list of chunks, the deposit is written in chunks
    SharedEntry entry;  ///< the deposit
    std::string token;  ///< of the lease under which it was made; empty: this node held none
  };

  /// The other objects must outlive this one, but for `servers`, which must be destroyed before it.
  DepositWriter(const Options& options, const SigningKey* key, RemoteEntries& entries,
                RedisServers& servers)
      : options_(options), key_(key), entries_(entries), servers_(servers) {}

  /// Writes a deposit. Waits for the answer to each chunk, so that no other command waits for more
  /// than one, and calls `between` before each. `then` is called once, here or on the servers'
  /// thread.
  void Write(const Deposit& deposit, const std::function<void()>& between,
             std::function<void(WriteEnd)> then);
  /// Ends all waits, now and later.
  void Stop();

 private:
  /// The beginnings of the values at the keys of a deposit that this node can't verify. Empty for
  /// a key that has no such value.
  struct Junk {
    std::string lease, written, other;
  };
  /// The keys of a deposit.
  struct Keys {
    LeaseName lease;
    std::string written;  ///< of the form in which the deposit is written
    std::string other;    ///< of its other form, which the write removes
  };

  [[nodiscard]] Junk FindJunk(const Deposit& deposit, const Keys& keys);
  [[nodiscard]] std::string JunkAt(const EntryName& name);
  [[nodiscard]] std::variant<SharedEntry, WriteEnd> WriteChunks(
      const Deposit& deposit, const Keys& keys, const Junk& junk,
      const std::function<void()>& between);
  bool Send(const Deposit& deposit, const Keys& keys, const Junk& junk, const std::string& name,
            std::string_view bytes, RedisServers::Then then);
  /// Sends a command, and waits for its reply. None if there is none in time.
  [[nodiscard]] std::optional<RedisReply> Answer(
      const std::function<bool(RedisServers::Then)>& send);

  const Options options_;
  const SigningKey* const key_;
  RemoteEntries& entries_;
  RedisServers& servers_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace cccl_cache::daemon
