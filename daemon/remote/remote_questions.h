// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/core/model/cluster.h"
#include "daemon/core/model/statistics.h"
#include "daemon/remote/chunk_fetches.h"
#include "daemon/remote/deposit_chunks.h"
#include "daemon/remote/redis/redis_servers.h"
#include "daemon/remote/remote_entries.h"
#include "daemon/remote/remote_lease.h"
#include "daemon/remote/remote_outbox.h"
#include "proto/digest.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// A question about a deposit waits this many times as long for an answer as one of a compile,
/// because a deposit takes longer to make.
inline constexpr int kDepositPatience = 10;

/// The questions of this node that are in progress: it looks for the entries, and then takes the
/// lease, or waits for the node that holds it. For the first link's thread only, unless a function
/// says otherwise.
class RemoteQuestions {
 public:
  struct Options {
    const SigningKey* key = nullptr;  ///< null: this node takes no leases
    std::chrono::milliseconds patience{0};
    std::chrono::milliseconds lease{0};
    std::chrono::milliseconds longest_fetch{0};
    size_t max_leases = 0;
    size_t max_deposit_leases = 0;
    uint64_t deposit_limit = 0;
    bool has_chunks = false;  ///< whether a deposit may be above the limit of one entry
  };

  /// The other objects must outlive this one, but for `link`, which must be destroyed before it.
  RemoteQuestions(const Options& options, RemoteEntries& entries, RedisServers& link,
                  RemoteOutbox& outbox, Statistics& statistics);

  void Begin(Cluster::Question question, std::stop_token ended, Cluster::Asker asker);
  void LooksOutside(const Digest& compile, uid_t uid);
  /// Returns the token of the lease that this node holds for this compile or deposit; empty if it
  /// holds none.
  [[nodiscard]] std::string TokenFor(const Digest& compile) const;
  void EndAll();

  /// Returns how long a question waits for an answer. Thread-safe.
  [[nodiscard]] std::chrono::milliseconds PatienceFor(const Cluster::Question& question) const;
  /// Returns the number of leases that this node holds. Thread-safe.
  [[nodiscard]] size_t leases() const { return leases_ + deposit_leases_; }

 private:
  using Clock = RedisServers::Clock;
  struct Open {
    Cluster::Question question;
    Cluster::Asker asker;
    std::unique_ptr<std::stop_callback<std::function<void()>>> at_end;
    bool compiles = false;               ///< whether the asker's `compile` was called
    SignedLease held;                    ///< the lease of this node; without a token: none
    Clock::time_point deadline;          ///< deadline of the reply that is awaited
    std::chrono::milliseconds pause{0};  ///< pause before the next check of another node's lease
    bool waits = false;                  ///< whether it has waited for another node's compile
    int holders = 0;                     ///< how often other nodes were found to hold the lease
    std::optional<uid_t> files_of = {};  ///< the user for whose files the compile waits
    LeaseWatch other;                    ///< the lease of another node
  };
  /// The replies to one group of commands. The replies may come from different servers. An entry
  /// whose server is unreachable counts as missing.
  struct Look {
    std::vector<SharedEntry> found;
    Clock::time_point asked = Clock::now();  ///< when the entries were requested
    size_t missing = 0;                      ///< number of replies that have not arrived yet
    bool lost = false;      ///< whether the server of the artifact or the lease is unreachable
    bool partial = false;   ///< whether the server of the manifest is unreachable
    bool acquires = false;  ///< whether the lease was requested too
    bool acquired = false;  ///< whether this node holds the lease now
    std::optional<ChunkList> chunks = {};  ///< of a deposit that must be fetched in chunks
    std::chrono::microseconds took{0};     ///< as in SharedEntry, of that deposit
  };

  void Find(uint64_t id, bool acquire);
  void AskForEntries(uint64_t id, const std::shared_ptr<Look>& look);
  void TakeLease(uint64_t id, const LeaseName& lease, const std::string& token, Look* look,
                 const RedisReply* reply);
  [[nodiscard]] bool MayAcquire(const Cluster::Question& question);
  [[nodiscard]] std::atomic<size_t>& HeldFor(const Cluster::Question& question);
  void TakeReply(uint64_t id, const std::shared_ptr<Look>& look, size_t place,
                 const RedisReply* reply);
  [[nodiscard]] bool Serves(Open* open, const Look& look);
  void CountReply(uint64_t id, const std::shared_ptr<Look>& look);
  void EndLook(uint64_t id, const std::shared_ptr<Look>& look);
  void FetchChunks(uint64_t id, const std::shared_ptr<Look>& look);
  void AwaitOther(uint64_t id);
  void LookAtLease(uint64_t id);
  void RenewLater(uint64_t id);
  void Renew(Open* open);
  void TellWhoseFiles(uint64_t id, uid_t uid);
  void BeLate(uint64_t id, const Look* look = nullptr);
  void Compile(uint64_t id);
  void End(uint64_t id);

  [[nodiscard]] Open* FindOpen(uint64_t id);
  [[nodiscard]] LeaseName LeaseOn(const Cluster::Question& question) const;
  [[nodiscard]] std::chrono::milliseconds PatienceOfWait(const Cluster::Question& question) const;

  const Options options_;
  RemoteEntries& entries_;
  RedisServers& link_;
  RemoteOutbox& outbox_;
  Statistics& statistics_;
  // Numbers of leases that this node holds, on compiles and on deposits. Other threads read them.
  std::atomic<size_t> leases_ = 0;
  std::atomic<size_t> deposit_leases_ = 0;
  std::unordered_map<uint64_t, Open> open_;
  uint64_t last_id_ = 0;
  ChunkFetches fetches_;
  int in_vain_in_a_row_ = 0;
  Clock::time_point ignore_leases_until_;
};

}  // namespace cccl_cache::daemon
