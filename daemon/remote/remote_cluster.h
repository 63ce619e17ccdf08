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
#include "daemon/remote/chunk_fetches.h"
#include "daemon/remote/deposit_chunks.h"
#include "daemon/remote/redis/redis_servers.h"
#include "daemon/remote/remote_outbox.h"
#include "daemon/remote/signed_entry.h"
#include "daemon/remote/signed_lease.h"
#include "daemon/remote/trust_list.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// The nodes that share one or several Redis servers. Entries are signed, because the servers and
/// the network are not trusted. A node announces a compile with a lease, and renews the lease while
/// the compile runs. A node that finds another node's lease waits for the result. Every failure
/// counts as a miss. Thread-safe.
///
/// Keys in Redis, each after the prefix: `a:KEY` an artifact, `m:KEY` a manifest, `d:KEY` a deposit
/// of a group, `c:KEY` the list of a larger one's chunks, `c:KEY:N` a chunk, `l:COMPILE` or `l:KEY`
/// a lease. The value of a lease ends with a random token of its holder. Before the token, a lease
/// on a deposit has the holder's signature (signed_lease.h), and a lease on a compile has "UID:"
/// once the compile waits for files of one user. The lease is removed after the result was written.
class RemoteCluster final : public Cluster {
 public:
  struct Options {
    /// The options of each connection. A build waits for an answer at most for `link.patience`, and
    /// at most for a tenth of its usual compile time.
    RedisLink::Options link;
    std::vector<RedisAddress> more_servers;  ///< further servers; the keys are spread over all of
                                             ///< them
    std::string prefix = "cccl-cached:";
    std::optional<SigningKey> key;                  ///< signs entries; none: this node only reads
    uint64_t entry_limit = 8 << 20;                 ///< in bytes; larger entries are not shared
    std::chrono::seconds lifetime{30 * 24 * 3600};  ///< an entry expires after this time
    std::chrono::milliseconds lease{3000};          ///< duration of a lease without renewal
    uint64_t deposit_limit = 8 << 20;               ///< the same for a deposit, in bytes; above
                                                    ///< `entry_limit` it is sent in chunks
    uint64_t outbox_limit = 64 << 20;               ///< limit of the bytes that wait to be written
    std::chrono::milliseconds longest_fetch{20'000};  ///< a deposit whose chunks take longer, also
                                                      ///< behind those of others, is a miss
    size_t max_leases = 16;                           ///< limit of the leases on compiles that this
                                                      ///< node holds at once
    size_t max_deposit_leases = 256;                  ///< the same for leases on deposits
  };

  /// `statistics` must outlive the object.
  RemoteCluster(Options options, std::shared_ptr<const TrustList> trusted, Statistics& statistics);
  ~RemoteCluster() override;

  bool Ask(Question question, const std::stop_token& ended, Asker asker) override;
  void Peek(Question question, std::function<void(Peeked)> told) override;
  void LooksOutside(const Digest& compile, uid_t uid) override;
  void Share(const EntryName& name, const SharedEntry& entry, Account account) override;
  void Forget(const EntryName& name) override;
  void Close() override;

  /// Replaces the trusted keys. An entry is used only if one of them has signed it.
  void Trust(std::shared_ptr<const TrustList> trusted);
  /// Starts to measure the difference between the clocks of this node and of Redis, which gauges()
  /// reports. Does nothing while another measurement is in progress.
  void Refresh();
  [[nodiscard]] ClusterGauges gauges() const;

 private:
  using Clock = RedisServers::Clock;
  /// A question in progress. Used on the link's thread only.
  struct Open {
    Question question;
    Asker asker;
    std::unique_ptr<std::stop_callback<std::function<void()>>> at_end;
    bool compiles = false;               ///< whether the asker's `compile` was called
    std::string token;                   ///< token of the lease that this node holds; empty: none
    Clock::time_point deadline;          ///< deadline of the reply that is awaited
    std::chrono::milliseconds pause{0};  ///< pause before the next check of another node's lease
    bool waits = false;                  ///< whether it has waited for another node's compile
    int holders = 0;                     ///< how often other nodes were found to hold the lease
    std::optional<uid_t> files_of = {};  ///< the user for whose files the compile waits
    uint64_t renewals = 0;               ///< of the lease that this node holds
    // For a deposit: the last valid value of another node's lease, and when it was first seen.
    std::string seen;
    SignedLease seen_lease;
    Clock::time_point seen_at;
  };
  /// A lease of another node.
  struct Lease {
    std::optional<uid_t> uid;  ///< the user for whose files the compile waits
  };
  /// The name of a lease, and the key whose server has it.
  struct LeaseName {
    std::string place;
    std::string name;
  };
  /// The replies to one group of commands. The replies may come from different servers. An entry
  /// whose server is unreachable counts as missing.
  struct Look {
    std::vector<SharedEntry> found;
    size_t missing = 0;     ///< number of replies that have not arrived yet
    bool lost = false;      ///< whether the server of the artifact or the lease is unreachable
    bool partial = false;   ///< whether the server of the manifest is unreachable
    bool acquires = false;  ///< whether the lease was requested too
    bool acquired = false;  ///< whether this node holds the lease now
    std::optional<ChunkList> chunks = {};  ///< of a deposit that must be fetched in chunks
  };
  /// A look-up for Peek(), which only explains a build.
  struct Peeking {
    Question question;
    std::function<void(Peeked)> told;  ///< empty after the call
    Peeked peeked;
    size_t missing = 0;  ///< number of replies that have not arrived yet
  };

  // These functions run on the link's thread.
  void Begin(uint64_t id, Question question, std::stop_token ended, Asker asker);
  void Find(uint64_t id, bool acquire);
  void AskForEntries(uint64_t id, const std::shared_ptr<Look>& look);
  void TakeLease(uint64_t id, const LeaseName& lease, const std::string& token, Look* look,
                 const RedisReply* reply);
  [[nodiscard]] bool MayAcquire(const Question& question);
  [[nodiscard]] std::atomic<size_t>& HeldFor(const Question& question);
  void TakeReply(uint64_t id, const std::shared_ptr<Look>& look, size_t place,
                 const RedisReply* reply);
  void PeekDeposit(Question question, std::function<void(Peeked)> told);
  void TakePeeked(Peeking& peek, size_t place, const RedisReply* reply);
  void EndPeek(Peeking& peek);
  [[nodiscard]] bool Serves(Open* open, const Look& look);
  void EndLook(uint64_t id, const std::shared_ptr<Look>& look);
  void FetchChunks(uint64_t id, const std::shared_ptr<Look>& look);
  void AwaitOther(uint64_t id);
  void LookAtLease(uint64_t id);
  /// Parses the value of a lease on a compile. Returns none if no node writes such a text.
  [[nodiscard]] static std::optional<Lease> ParseLease(std::string_view text);
  /// Returns none if the value is not that of a lease, or is one that nobody renews.
  [[nodiscard]] std::optional<Lease> ReadLease(Open* open, std::string_view value);
  void RenewLater(uint64_t id);
  void Renew(Open* open);
  [[nodiscard]] std::string ValueOf(const Open& open, const std::string& token,
                                    uint64_t renewals) const;
  void TellWhoseFiles(uint64_t id, uid_t uid);
  void BeLate(uint64_t id, const Look* look = nullptr);
  void Compile(uint64_t id);
  void End(uint64_t id);

  [[nodiscard]] Open* FindOpen(uint64_t id);
  /// Returns the entry in a reply if a trusted node has signed it, else the reason to refuse it.
  [[nodiscard]] std::variant<SharedEntry, EntryRefusal> Opened(const EntryName& name,
                                                               const RedisReply& reply) const;
  /// Like Opened, but counts a refusal in the statistics. Null if there is no entry, or if it is
  /// refused.
  [[nodiscard]] SharedEntry Verified(const EntryName& name, const RedisReply& reply);
  /// Requests an entry from its server. Returns false if the server is not connected.
  bool Fetch(const EntryName& entry_name, RedisLink::Then then);
  [[nodiscard]] std::string NameOf(const EntryName& entry_name) const;
  /// Returns the key whose server has the entry.
  [[nodiscard]] std::string PlaceOf(const EntryName& entry_name) const;
  [[nodiscard]] LeaseName NameOfLease(const Question& question) const;
  [[nodiscard]] std::chrono::milliseconds PatienceFor(const Question& question) const;
  [[nodiscard]] std::chrono::milliseconds PatienceOfWait(const Question& question) const;
  [[nodiscard]] std::shared_ptr<const TrustList> trusted() const;

  const Options options_;
  Statistics& statistics_;
  // Numbers of leases that this node holds, on compiles and on deposits. Changed on the link's
  // thread only.
  std::atomic<size_t> leases_ = 0;
  std::atomic<size_t> deposit_leases_ = 0;

  // Used on the link's thread only.
  std::unordered_map<uint64_t, Open> open_;
  ChunkFetches fetches_;
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
