// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/coordinator/build.h"
#include "daemon/core/model/activity.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Records the flights: each compile, queued or running, with the builds that wait for it. Also
/// keeps the parked builds, which wait for other values. The table starts no compile and calls no
/// callback. Thread-safe.
class FlightTable {
 public:
  using Ticket = Build::Ticket;

  /// Returns a ticket for a new build. `finishes`: whether the build continues after its caller has
  /// left.
  Ticket Open(bool finishes = false);
  /// Ends the ticket of a build whose answer is ready. Returns false if the caller has left, so
  /// that the answer must be dropped.
  bool Close(Ticket ticket);

  /// From now on, the build of this ticket no longer continues after its caller has left.
  void EndWithCaller(Ticket ticket);

  /// Keeps a build that waits for a value other than a compile's result. The value may never come.
  /// If the caller has left or leaves meanwhile, the build is destroyed, unless it finishes without
  /// its caller.
  void Park(BuildPtr waiter);
  /// Returns the parked build and passes its ownership to the caller. Returns null if the build is
  /// not parked any more, because its caller has left or TakeAll has taken it.
  [[nodiscard]] BuildPtr TakeParked(Ticket ticket);

  struct Joined {
    uint64_t flight = 0;  ///< 0 if the caller left before, so that the build joined no flight
    bool leads = false;   ///< whether the build is the first of a new flight
    bool started = false;
    bool asking = false;    ///< whether the flight asks other nodes first, and is not in the queue
                            ///< yet
    std::stop_token ended;  ///< a stop is requested when the flight has ended
  };
  struct NewFlight {
    /// Whether builds may join after the compile has begun. If false, the next build with this key
    /// starts another flight.
    bool shared = true;
    bool asking = false;
  };
  /// Adds the build to the flight with this key. If there is none, creates one with the properties
  /// `if_new`. Takes the ownership of the build, and destroys it if its caller has left.
  Joined Join(BuildPtr waiter, const Digest& key, NewFlight if_new);

  /// A build that must enter the queue, because its flight no longer asks other nodes.
  struct Unqueued {
    Ticket ticket = 0;
    Account account;
    BuildPriority priority = BuildPriority::kNormal;
    std::shared_ptr<const BuildPlan> plan;
    bool missed = false;  ///< whether the build must be counted as a miss now, because no tier and
                          ///< no node has its result
  };
  /// Records that this flight no longer asks other nodes. Returns its builds, which must now be
  /// added to the queue.
  std::vector<Unqueued> EndAsking(uint64_t flight);
  /// Returns true if the compile of the flight has begun, or if the flight has ended.
  [[nodiscard]] bool HasBegun(uint64_t flight) const;

  struct Started {
    std::shared_ptr<const BuildPlan> plan;
    Caller caller;                             ///< the caller that has waited longest
    std::shared_ptr<const Manifest> manifest;  ///< the shared manifest that this caller's last
                                               ///< look-up found; may be null
    std::stop_token stop;
    int overtaken = 0;  ///< number of restarts of this build because another flight ended first
  };
  /// Marks the flight's compile as begun. Returns none if it had begun before, or if the flight was
  /// cancelled or has ended.
  std::optional<Started> Begin(uint64_t flight);

  /// Removes the builds of other uids from the flight and returns them. Later builds must use `key`
  /// to join this flight. If no build is left, the flight is cancelled and removed.
  std::vector<BuildPtr> TakeOthers(uint64_t flight, uid_t uid, const Digest& key);

  /// Removes the flight and returns its builds. If its compile still runs, because the answer came
  /// from another source, the compile is cancelled.
  std::vector<BuildPtr> Finish(uint64_t flight);

  struct Left {
    uint64_t flight = 0;  ///< 0 if the build waited in no flight
    bool last = false;    ///< whether the flight had no other build, and was therefore cancelled
                          ///< and removed
    BuildPtr waiter;
  };
  /// Records that the caller has left and gets no answer. If its build led the flight, the next
  /// build leads it. A build with on_miss = finish stays in its flight, unless the same account has
  /// another such build in that flight.
  Left Leave(Ticket ticket);
  /// Removes the build from its flight, because it gets its answer from another source. Does
  /// nothing if the flight's compile has begun. The ticket stays valid.
  Left TakeOutOfLine(Ticket ticket);

  /// Returns the number of builds that wait in flights, including those that lead them.
  [[nodiscard]] size_t Waiting() const;
  /// Returns the running flights first, and then the others by the time of their first build. An
  /// administrator sees all flights. Another user sees only flights with builds of the same uid,
  /// and counts only those builds. kOverflowUid, which stands for many people, sees no flight. Sets
  /// `*more` to the number of flights beyond kMaxListedFlights.
  [[nodiscard]] std::vector<FlightActivity> List(const Peer& asker, size_t* more) const;
  /// Returns the request of a build of this uid that waits in a flight, and whose plan has this
  /// key. Returns null if there is none, and always for kOverflowUid, which stands for many people.
  /// Returns kInvalidRequest if several such keys begin with the prefix `key`.
  [[nodiscard]] Result<std::shared_ptr<const BuildRequest>> RequestOf(const DigestPrefix& key,
                                                                      uid_t uid) const;

  /// Cancels all running compiles, and lets no other compile begin.
  void CancelAll();
  /// Removes all builds from their flights and from the parked builds, and returns them.
  std::vector<BuildPtr> TakeAll();
  /// Waits until each caller has its answer or has left, and returns true. Returns false if the
  /// time `deadline` passes first.
  bool WaitUntilIdle(std::chrono::milliseconds deadline);

 private:
  struct Flight {
    Digest key;
    std::vector<BuildPtr> waiters;
    std::stop_source stop;
    bool shared = true;
    bool asking = false;
    bool started = false;
    std::chrono::steady_clock::time_point begun = {};  ///< time at which the compile began; not set
                                                       ///< before
    bool joinable = true;
  };
  struct TicketState {
    uint64_t flight = 0;
    bool finishes = false;
    bool left = false;  ///< whether the caller left while the build was in use; unless `finishes`
                        ///< is set, the build ends at the next call of Close, Park or Join
    BuildPtr parked = nullptr;

    [[nodiscard]] bool ends() const { return left && !finishes; }
  };

  void Forget(std::unordered_map<Ticket, TicketState>::iterator ticket) REQUIRES(mutex_);

  /// Removes the build of the ticket from its flight `id`, in which it must wait. If the flight is
  /// now empty, sets `*stop` to its source, on which the caller must request a stop.
  Left RemoveWaiter(Ticket ticket, uint64_t id, std::stop_source* stop) REQUIRES(mutex_);
  void StopJoining(uint64_t id, Flight* flight) REQUIRES(mutex_);
  /// Returns whether this ticket's flight has another build of the same account with on_miss =
  /// finish. One of them is enough to finish the compile.
  [[nodiscard]] bool IsFinishedForAnother(Ticket ticket, const TicketState& state) const
      REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar idle_;
  Ticket last_ticket_ GUARDED_BY(mutex_) = 0;
  size_t unattended_ GUARDED_BY(mutex_) = 0;  ///< number of open tickets whose callers have left
                                              ///< and whose builds continue
  uint64_t last_flight_ GUARDED_BY(mutex_) = 0;
  size_t waiting_ GUARDED_BY(mutex_) = 0;      ///< number of builds in all flights
  bool cancelled_ GUARDED_BY(mutex_) = false;  ///< whether CancelAll was called
  std::unordered_map<Ticket, TicketState> tickets_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Flight> flights_ GUARDED_BY(mutex_);
  std::unordered_map<Digest, uint64_t, DigestHash> joinable_ GUARDED_BY(mutex_);  ///< key -> id of
                                                                                  ///< the flight
};

}  // namespace cccl_cache::daemon
