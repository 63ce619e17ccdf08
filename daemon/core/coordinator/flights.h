// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "daemon/core/coordinator/build.h"
#include "daemon/core/coordinator/fair_queue.h"
#include "daemon/core/coordinator/flight_table.h"
#include "daemon/core/coordinator/responder.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/expiring_cache.h"
#include "daemon/core/run/compile_runner.h"
#include "daemon/core/run/idle_checks.h"
#include "daemon/core/run/preamble_pool.h"

namespace cccl_cache::daemon {

/// Handles misses: from the time when a build joins a flight until it gets the flight's result. A
/// flight is one compile with all builds that wait for it. Thread-safe.
class Flights {
 public:
  struct Parts {
    FlightTable& table;
    BuildCache& cache;
    Responder& responder;
    CompileRunner::Parts compile;                  ///< `preambles` and `memory` are ignored:
                                                   ///< Flights sets its own
    std::function<void(std::string_view)> report;  ///< receives messages for the operator; may be
                                                   ///< empty
    Cluster* cluster = nullptr;                    ///< the other nodes, asked before a compile;
                                                   ///< null if there are none
  };
  struct Limits {
    CompileLimits compile;
    FairQueue::Bounds queue;
    uint64_t shadow_check_every = 0;  ///< one of so many hits is checked; 0 for no checks
    PreamblePool::Bounds preambles;
    CompileMemory::Limits memory;
  };
  /// Called with a build that must be looked up again, because the flight's result does not serve
  /// it.
  using StartAgain = std::function<void(BuildPtr)>;

  /// The objects in `parts` must outlive this object.
  Flights(const Parts& parts, const Limits& limits, StartAgain start_again);
  ~Flights() { Close(); }
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;

  /// Cancels all running compiles, and returns when they have ended. Builds that wait, or join
  /// later, stay in the table without an answer.
  void Close();

  /// Adds the build, which must have a plan, to the flight of its key, or starts a flight.
  void Join(BuildPtr waiter);
  /// Removes the build of a caller that has left. If no other build waits for the flight's compile,
  /// the compile is cancelled.
  void Leave(Build::Ticket ticket);

  /// Reports a hit. Now and then, a hit is checked: a second compile in the background must give
  /// the same result (a shadow check). `closure` is the closure that matched.
  void Hit(const Build& waiter, const FlightResult& hit, const Closure& closure);

  /// Returns about the longest time that recent compiles of this kind took; 0 if unknown.
  [[nodiscard]] std::chrono::microseconds UsualTime(BuildKind kind) const {
    return std::chrono::microseconds(
        usual_times_[static_cast<size_t>(kind)].load(std::memory_order_relaxed));
  }
  /// Returns the waiting and running builds that this peer may see.
  [[nodiscard]] BuildActivity Activity(const Peer& peer) const;
  [[nodiscard]] FairQueue& queue() { return queue_; }
  [[nodiscard]] BuildGauges Gauges() const {
    return {queue_.running(), queue_.waiting(), parts_.table.Waiting(), idle_jobs_.size(),
            memory_.activity()};
  }

 private:
  Digest KeyFor(const Build& waiter);
  /// Returns whether a background compile can get this caller's files after the caller has left.
  [[nodiscard]] bool CanBeRecalled(const BuildPlan& plan, const Caller& caller) const;
  [[nodiscard]] size_t Busy() const {
    const size_t waiting = queue_.waiting();  // read first, so that an item that starts meanwhile
                                              // is counted twice rather than not at all
    return waiting + queue_.running();
  }
  /// What a flight asks other nodes for, and the compile that it announces to them.
  struct Wanted {
    std::shared_ptr<const BuildPlan> plan;
    Account account;
    std::optional<Digest> compile;  ///< as in Cluster::Question::compile
    std::chrono::steady_clock::time_point since;
    Digest artifact;                        ///< key of the artifact of the matching closure;
                                            ///< without one, of the empty closure
    bool manifest = true;                   ///< whether to ask for the manifest too, because no
                                            ///< closure is known to match
    std::shared_ptr<const Manifest> known;  ///< the shared manifest that this node has; as in Land
  };
  /// Sends the question to other nodes. Returns false if no other node can be asked now.
  bool AskCluster(const FlightTable::Joined& joined, Wanted wanted);
  /// Takes the entries that other nodes have sent. Returns whether they have ended the flight.
  bool TakeFromCluster(uint64_t flight, const Wanted& wanted, const Cluster::Found& found);
  /// Adds the flight to the queue, because other nodes have no result.
  void EndAsking(uint64_t flight);
  void Enqueue(uint64_t flight, const FlightTable::Unqueued& waiter);
  void NoteTime(BuildKind kind, std::chrono::microseconds time);
  void Run(uint64_t flight, const FairQueue::Slot& slot);
  [[nodiscard]] bool HasLanded(const BuildPlan& plan, uid_t uid, const Manifest* known);
  void LooksOutside(uint64_t flight, const BuildPlan& plan, const Caller& caller);
  /// Like LooksOutside, but for a flight that waits for another node's compile: that compile
  /// depends on the files of the user `uid`.
  void LooksOutsideElsewhere(uint64_t flight, const BuildPlan& plan, uid_t uid);
  /// Stores the result of a flight and answers its builds. `known` is the shared manifest that the
  /// leader's look-up found. It is null if the disk did not answer, or if there was no look-up.
  void Land(uint64_t flight, const std::shared_ptr<const BuildPlan>& plan, const Peer& peer,
            const FlightResult& flight_result, const Manifest* known);

  const Parts parts_;
  const StartAgain start_again_;
  /// About the longest recent compile time of each kind, in microseconds; 0 if unknown. It
  /// decreases slowly when compiles get faster.
  std::array<std::atomic<int64_t>, 4> usual_times_{};
  CompileMemory memory_;
  PreamblePool preambles_;
  CompileRunner runner_;
  // Last members, because their threads use all other members. The idle jobs also use `queue_`,
  // which is destroyed first, but Close stops them before that.
  IdleJobs idle_jobs_;
  ShadowChecks shadow_checks_;
  FairQueue queue_;
};

}  // namespace cccl_cache::daemon
