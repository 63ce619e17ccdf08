// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/statistics.h"
#include "daemon/remote/redis_servers.h"
#include "daemon/remote/remote_outbox.h"
#include "daemon/remote/signed_entry.h"
#include "daemon/remote/trust_list.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// The nodes that share one Redis or several. Entries are signed: Redis and the network are
/// not trusted. A compile is announced by a lease, which is renewed while it runs; a node that
/// finds another's lease waits for the result. Each failure is a miss. Thread-safe.
///
/// Keys in Redis, each after the prefix: `a:KEY` an artifact, `m:KEY` a manifest, `d:KEY` a deposit
/// for a group, `l:COMPILE` a lease. A lease holds a random token of its holder, with "UID:" before
/// it once the compile waits for files of that user. It is removed after the compile's result was
/// written.
class RemoteCluster final : public Cluster {
 public:
  struct Options {
    /// A build waits for an answer as long as the link's patience, and a tenth of its usual compile
    /// time at most.
    RedisLink::Options link;
    std::vector<RedisAddress> more_servers;  ///< that share the keys with the link's
    std::string prefix = "cccl-cached:";
    std::optional<SigningKey> key;                  ///< none: this node only reads
    uint64_t entry_limit = 8 << 20;                 ///< bytes; larger entries stay on their node
    std::chrono::seconds lifetime{30 * 24 * 3600};  ///< of an entry
    std::chrono::milliseconds lease{3000};          ///< without renewal
    uint64_t outbox_limit = 64 << 20;               ///< bytes that wait to be written
    size_t max_leases = 16;                         ///< that this node holds at a time
  };

  /// The statistics must outlive it.
  RemoteCluster(Options options, std::shared_ptr<const TrustList> trusted, Statistics& statistics);
  ~RemoteCluster() override;

  bool Ask(Question question, const std::stop_token& ended, Asker asker) override;
  void Peek(Question question, std::function<void(Peeked)> told) override;
  void LooksOutside(const Digest& compile, uid_t uid) override;
  void Share(const SharedEntry& entry, const ArtifactPtr& artifact, Account account) override;
  void Forget(const SharedEntry& entry) override;
  void Close() override;

  /// Replaces the keys of which one must have signed an entry.
  void Trust(std::shared_ptr<const TrustList> trusted);
  /// Refreshes the clock offset to Redis that gauges() reports. Does nothing while a refresh is in
  /// progress.
  void Refresh();
  [[nodiscard]] ClusterGauges gauges() const;

 private:
  using Clock = RedisServers::Clock;
  /// One question, until it has ended. Used on the link's thread only.
  struct Open {
    Question question;
    Asker asker;
    std::unique_ptr<std::stop_callback<std::function<void()>>> at_end;
    bool compiles = false;               ///< the asker's `compile` was called
    std::string token;                   ///< of the lease that this node holds; empty: none
    Clock::time_point deadline;          ///< of the reply that it waits for
    std::chrono::milliseconds pause{0};  ///< before the next look at another node's lease
    bool waits = false;                  ///< waits or waited for another node's compile
    int holders = 0;                     ///< other nodes that had the lease when it was asked for
    std::optional<uid_t> files_of = {};  ///< the compile waits for files of this user
  };
  /// The replies to one look at Redis, as they come in. Each may come from another server: a key of
  /// an unreachable server counts as missing.
  struct Look {
    std::vector<ArtifactPtr> found;
    size_t missing = 0;     ///< replies
    bool lost = false;      ///< the artifact's or the lease's node is unreachable
    bool partial = false;   ///< the manifest's node is unreachable
    bool acquires = false;  ///< the lease was asked for
    bool acquired = false;  ///< this node holds the lease now
  };
  /// A look-up for a build that is only explained.
  struct Peeking {
    Question question;
    std::function<void(Peeked)> told;  ///< empty: already called
    Peeked peeked;
    size_t missing = 0;  ///< replies
  };

  // All of these run on the link's thread.
  void Begin(uint64_t id, Question question, std::stop_token ended, Asker asker);
  void Find(uint64_t id, bool acquire);
  void AskForEntries(uint64_t id, const std::shared_ptr<Look>& look);
  void TakeLease(uint64_t id, const std::string& lease, const std::string& token, Look* look,
                 const RedisReply* reply);
  [[nodiscard]] bool MayAcquire() const;
  void TakeReply(uint64_t id, const std::shared_ptr<Look>& look, size_t place,
                 const RedisReply* reply);
  void TakePeeked(Peeking& peek, size_t place, const RedisReply* reply);
  void EndPeek(Peeking& peek);
  [[nodiscard]] bool Serves(Open* open, const Look& look);
  void EndLook(uint64_t id, const Look& look);
  void AwaitOther(uint64_t id);
  void LookAtLease(uint64_t id);
  void RenewLater(uint64_t id);
  void TellWhoseFiles(uint64_t id, uid_t uid);
  void SayWhoseFiles(Open* open, uid_t uid);
  void BeLate(uint64_t id, const Look* look = nullptr);
  void Compile(uint64_t id);
  void End(uint64_t id);

  [[nodiscard]] Open* FindOpen(uint64_t id);
  /// Returns a trusted node's entry, or why it is refused.
  [[nodiscard]] std::variant<ArtifactPtr, EntryRefusal> Opened(const SharedEntry& entry,
                                                               const RedisReply& reply) const;
  /// The same, counted; null: there is no entry, or it is refused.
  [[nodiscard]] ArtifactPtr Verified(const SharedEntry& entry, const RedisReply& reply);
  /// Asks for an entry. Returns false if there is no connection.
  bool Fetch(const SharedEntry& entry, RedisLink::Then then);
  [[nodiscard]] std::string NameOf(const SharedEntry& entry) const;
  [[nodiscard]] std::string NameOfLease(const Open& open) const;
  [[nodiscard]] std::chrono::milliseconds PatienceFor(const Question& question) const;

  const Options options_;
  Statistics& statistics_;
  std::atomic<size_t> leases_ = 0;  ///< held; changed on the link's thread only

  // Of the link's thread.
  std::unordered_map<uint64_t, Open> open_;
  int in_vain_in_a_row_ = 0;
  Clock::time_point ignore_leases_until_;
  bool closed_ = false;

  mutable Mutex mutex_;
  std::shared_ptr<const TrustList> trusted_ GUARDED_BY(mutex_);
  bool asks_time_ GUARDED_BY(mutex_) = false;
  std::optional<std::chrono::milliseconds> clock_ahead_ GUARDED_BY(mutex_);
  uint64_t last_id_ GUARDED_BY(mutex_) = 0;

  RemoteOutbox outbox_;
  RedisServers link_;  ///< its first thread uses the members above
};

}  // namespace cccl_cache::daemon
