// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/statistics.h"
#include "daemon/remote/redis/redis_servers.h"
#include "daemon/remote/remote_entries.h"
#include "daemon/remote/remote_outbox.h"
#include "daemon/remote/remote_questions.h"
#include "daemon/remote/trust_list.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// The nodes that share one or several Redis servers. Entries are signed, because the servers and
/// the network are not trusted. A node announces a compile with a lease, and renews the lease while
/// the compile runs. A node that finds another node's lease waits for the result. Every failure
/// counts as a miss. Thread-safe.
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

  /// As in RemoteEntries.
  void Trust(std::shared_ptr<const TrustList> trusted) { entries_.Trust(std::move(trusted)); }
  /// Starts to measure the difference between the clocks of this node and of Redis, which gauges()
  /// reports. Does nothing while another measurement is in progress.
  void Refresh();
  [[nodiscard]] ClusterGauges gauges() const;

 private:
  using Clock = RedisServers::Clock;
  /// A look-up for Peek(), which only explains a build.
  struct Peeking {
    Question question;
    std::function<void(Peeked)> told;  ///< empty after the call
    Peeked peeked;
    size_t missing = 0;  ///< number of replies that have not arrived yet
  };

  // These functions run on the link's thread.
  void TakePeeked(Peeking& peek, size_t place, const RedisReply* reply);
  void EndPeek(Peeking& peek);

  /// Returns null if this node only reads.
  [[nodiscard]] const SigningKey* key() const { return options_.key ? &*options_.key : nullptr; }
  /// Returns whether a deposit may be above the limit of one entry.
  [[nodiscard]] bool has_chunks() const { return options_.deposit_limit > options_.entry_limit; }

  const Options options_;
  Statistics& statistics_;

  mutable Mutex mutex_;
  bool asks_time_ GUARDED_BY(mutex_) = false;
  std::optional<std::chrono::milliseconds> clock_ahead_ GUARDED_BY(mutex_);

  bool closed_ = false;  ///< used on the link's thread only
  RemoteEntries entries_;
  RemoteOutbox outbox_;
  RemoteQuestions questions_;
  RedisServers link_;  ///< its first thread uses the members above
};

}  // namespace cccl_cache::daemon
