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

/// The misses, from the join of a flight to the result. Callers of the same build wait for one
/// compile. Thread-safe.
class Flights {
 public:
  struct Parts {
    FlightTable& table;
    BuildCache& cache;
    Responder& responder;
    CompileRunner::Parts compile;                  ///< preambles and memory are not set
    std::function<void(std::string_view)> report;  ///< messages for the operator; may be empty
    Cluster* cluster = nullptr;                    ///< asked before a compile; null without other
                                                   ///< nodes
  };
  struct Limits {
    CompileLimits compile;
    FairQueue::Bounds queue;
    uint64_t shadow_check_every = 0;  ///< number of hits per check; 0 for no checks
    PreamblePool::Bounds preambles;
    uint64_t memory_bytes = 0;  ///< as in BuildLimits
  };
  /// Looks a waiter's build up again, because the flight's result does not fit its files.
  using StartAgain = std::function<void(BuildPtr)>;

  /// The parts must outlive the flights.
  Flights(const Parts& parts, const Limits& limits, StartAgain start_again);
  ~Flights() { Close(); }
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;

  /// Cancels running compiles and returns when they have ended. Waiters stay in the table,
  /// including those that join later.
  void Close();

  /// Adds the waiter, which has its plan, to a flight or starts a flight.
  void Join(BuildPtr waiter);
  /// Removes a waiter. A flight without waiters is cancelled.
  void Leave(Build::Ticket ticket);

  /// Reports a hit with its closure, which may become the sample of a shadow check.
  void Hit(const Build& waiter, const FlightResult& hit, const Closure& closure);

  /// Returns the maximum duration of recent compiles of this kind; 0 if unknown.
  [[nodiscard]] std::chrono::microseconds UsualTime(BuildKind kind) const {
    return std::chrono::microseconds(
        usual_times_[static_cast<size_t>(kind)].load(std::memory_order_relaxed));
  }
  /// Returns the waiting and running builds that this peer may see.
  [[nodiscard]] BuildActivity Activity(const Peer& peer) const;
  [[nodiscard]] BuildGauges Gauges() const {
    return {queue_.running(), queue_.waiting(), parts_.table.Waiting(), idle_jobs_.size(),
            memory_.activity()};
  }

 private:
  Digest KeyFor(const Build& waiter);
  /// Returns whether a job can get this caller's files without the caller.
  [[nodiscard]] bool CanBeRecalled(const BuildPlan& plan, const Caller& caller) const;
  [[nodiscard]] size_t Busy() const {
    const size_t waiting = queue_.waiting();  // first, so that an item that starts meanwhile counts
                                              // below
    return waiting + queue_.running();
  }
  /// The entries to ask other nodes for, and the compile to announce to them.
  struct Wanted {
    std::shared_ptr<const BuildPlan> plan;
    Account account;
    std::optional<Digest> compile;  ///< as in Cluster::Question
    std::chrono::steady_clock::time_point since;
    Digest artifact;                        ///< of the true closure, or of the empty one
    bool manifest = true;                   ///< whether the manifest is wanted too, because no
                                            ///< closure is known to be true
    std::shared_ptr<const Manifest> known;  ///< as for Land
  };
  /// Returns whether other nodes are asked for this flight.
  bool AskCluster(const FlightTable::Joined& joined, Wanted wanted);
  /// Returns whether these entries have ended the flight.
  bool TakeFromCluster(uint64_t flight, const Wanted& wanted, const Cluster::Found& found);
  /// Queues a flight after other nodes had no result.
  void EndAsking(uint64_t flight);
  void Enqueue(uint64_t flight, const FlightTable::Unqueued& waiter);
  void NoteTime(BuildKind kind, std::chrono::microseconds time);
  void Run(uint64_t flight);
  [[nodiscard]] bool HasLanded(const BuildPlan& plan, uid_t uid, const Manifest* known);
  void LooksOutside(uint64_t flight, const BuildPlan& plan, const Caller& caller);
  /// The same for a flight that waits for another node's compile.
  void LooksOutsideElsewhere(uint64_t flight, const BuildPlan& plan, uid_t uid);
  /// `known` is the shared manifest at the leader's look-up. Null if the disk did not answer, or it
  /// was not looked up.
  void Land(uint64_t flight, const std::shared_ptr<const BuildPlan>& plan, const Peer& peer,
            const FlightResult& flight_result, const Manifest* known);

  const Parts parts_;
  const StartAgain start_again_;
  /// Decaying maximum of each kind's compile times, in microseconds; 0 if unknown.
  std::array<std::atomic<int64_t>, 4> usual_times_{};
  CompileMemory memory_;
  PreamblePool preambles_;
  CompileRunner runner_;
  // Last members, because their threads use the members above. Idle jobs also ask the queue, from
  // the first job until Close has stopped them.
  IdleJobs idle_jobs_;
  ShadowChecks shadow_checks_;
  FairQueue queue_;
};

}  // namespace cccl_cache::daemon
