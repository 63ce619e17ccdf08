// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/core/closure/header_set_traits.h"
#include "daemon/core/closure/sent_files.h"
#include "daemon/core/coordinator/async_lookups.h"
#include "daemon/core/coordinator/build.h"
#include "daemon/core/coordinator/builder.h"
#include "daemon/core/coordinator/flight_table.h"
#include "daemon/core/coordinator/flights.h"
#include "daemon/core/coordinator/responder.h"
#include "daemon/core/explain/explainer.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Takes each build through its steps: request -> key -> look up -> join -> compile -> store ->
/// answer. A hit never waits for a compile. A build that waits for another build's compile holds no
/// thread. Thread-safe.
class BuildCoordinator final : public Builder {
 public:
  /// The objects that the coordinator uses. They must outlive it. `toolchains` must have stopped
  /// calling callbacks before the coordinator is destroyed.
  struct Parts {
    Toolchains& toolchains;
    Compiler& compiler;
    FileAccess& files;
    std::vector<Tier*> tiers;  ///< in the order in which they are asked
    Statistics& statistics;
    EvictionLog& eviction_log;   ///< the entries that the tiers have dropped
    Responder::Observe observe;  ///< called once per answered build; may be empty
    std::function<void(std::string_view)> report = {};  ///< messages for the operator
    AnsweredBuilds* answered = nullptr;  ///< records which artifacts each user got; null: they are
                                         ///< not recorded
    PrivateEntries* own = nullptr;       ///< entries of single users, looked up before the tiers;
                                         ///< null if there are none
    /// Contents of files that callers have sent. Null if no caller sends files.
    std::shared_ptr<SentContents> sent_contents = nullptr;
    Cluster* cluster = nullptr;     ///< the other nodes, asked before a compile; null for none
    FindAccount find_account = {};  ///< finds the account of a uid; if empty, each uid is its own
                                    ///< account
  };

  BuildCoordinator(Parts parts, const BuildLimits& limits);
  /// Cancels running compiles and answers all waiters with kUnavailable.
  ~BuildCoordinator() override;
  BuildCoordinator(const BuildCoordinator&) = delete;
  BuildCoordinator& operator=(const BuildCoordinator&) = delete;

  Ticket Start(std::shared_ptr<const BuildRequest> request, const Caller& caller,
               Done done) override;
  void Leave(Ticket ticket) override { flights_.Leave(ticket); }
  Ticket Explain(std::shared_ptr<const BuildRequest> request, const Peer& peer,
                 Explainer::Done done) override;
  void ExplainKey(const DigestPrefix& key, const Peer& peer, Explainer::Done done) override;
  [[nodiscard]] Result<std::shared_ptr<const BuildRequest>> RequestOf(
      const DigestPrefix& key, const Peer& peer) const override {
    return table_.RequestOf(key, peer.uid);
  }

  /// Refuses new builds with kUnavailable. Returns when all builds in progress have ended, or after
  /// `deadline` milliseconds.
  void Drain(std::chrono::milliseconds deadline);

  [[nodiscard]] BuildGauges Gauges() const { return flights_.Gauges(); }
  /// Returns the longest compiles that the peer may see: an administrator those of all users,
  /// others their own.
  [[nodiscard]] std::vector<UsersBuild> Dearest(const Peer& peer, size_t most) const {
    return history_.Dearest(peer.administrator ? std::nullopt : std::optional(peer.uid), most);
  }
  /// Returns the waiting and running builds that this peer may see.
  [[nodiscard]] BuildActivity Activity(const Peer& peer) const { return flights_.Activity(peer); }

  /// Returns the queue in which reservations of memory wait, too. It lives as long as the
  /// coordinator.
  [[nodiscard]] FairQueue& queue() { return flights_.queue(); }
  /// Returns the cache of builds. It lives as long as the coordinator.
  [[nodiscard]] BuildCache& cache() { return cache_; }

 private:
  void Advance(BuildPtr build);
  BuildPtr MakePlan(BuildPtr build);
  Ticket Enter(BuildPtr build);

  // Each function parks the build until the value that it names is available, and then calls
  // Advance.
  void AwaitToolchain(BuildPtr build);
  void AwaitPlan(BuildPtr build);
  void AwaitQuarantine(BuildPtr build);
  void AwaitFailure(BuildPtr build);
  void AwaitEntry(BuildPtr build);
  void AwaitClosure(BuildPtr build);
  void AwaitArtifact(BuildPtr build);
  void AwaitElsewhere(BuildPtr build);
  void AwaitComparison(BuildPtr build);
  /// Runs `look`, which reads the caller's files, on another thread. Then calls Advance with its
  /// result.
  template <typename Look>
  void AwaitFiles(BuildPtr build, Look look);
  /// Like AwaitFiles, for a read of the daemon's disk. If the disk does not answer in time, the
  /// result is empty.
  template <typename Read>
  void AwaitDisk(BuildPtr build, Read read);

  [[nodiscard]] Result<BuildPlan> Plan(const std::shared_ptr<const BuildRequest>& request,
                                       const ToolchainPtr& toolchain, const Peer& peer,
                                       bool real_names);
  [[nodiscard]] std::shared_ptr<RequesterFiles> FilesOf(const Build& build) const;
  /// Both read the disk and may block, unless the cache knows that the entry is not on the disk.
  PlanEntry ReadEntry(const BuildPlan& plan, uid_t uid, bool dry_run);
  std::optional<FlightResult> ReadArtifact(const Digest& key, uid_t uid, bool dry_run);
  bool NeedsRealNames(const Build& build);
  static void PlanUnderRealNames(Build& build);
  /// Returns whether to ask other nodes for the artifact of a build that must not be compiled.
  bool AsksElsewhere(Build& build) const;
  /// Returns why an explanation of a key says nothing about other nodes: there are none, or they
  /// were not asked.
  [[nodiscard]] TierLook NotAskedElsewhere() const;
  void TakeElsewhere(BuildPtr build, const Cluster::Peeked& peeked);
  /// Like TakeElsewhere for a dry run, which stores no entries of other nodes.
  void ExplainElsewhere(BuildPtr build, Cluster::Peeked peeked);
  void AnswerHit(BuildPtr build, const FlightResult& hit, const Closure& closure);

  const Parts parts_;
  const BuildLimits limits_;
  const std::optional<FilesView> own_view_ = FilesViewOfThisThread();
  std::atomic<bool> stopping_{false};
  FlightTable table_;
  BuildCache cache_;
  BuildHistory history_;
  KnownHeaderSets header_sets_{[] { return std::chrono::steady_clock::now(); }};
  Responder responder_;
  const Explainer explainer_;
  AsyncLookups lookups_;  // its threads use all members until Close
  Flights flights_;       // last member, because its threads use all others
};

}  // namespace cccl_cache::daemon
