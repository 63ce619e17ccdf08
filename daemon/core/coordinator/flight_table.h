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

/// Records which caller waits for which compile. It only keeps the records: it starts nothing and
/// calls nothing. Thread-safe.
class FlightTable {
 public:
  using Ticket = Build::Ticket;

  /// Returns a ticket for a new caller. `finishes`: its build continues after the caller has left.
  Ticket Open(bool finishes = false);
  /// Ends the ticket of a caller that gets its answer now. Returns false if the caller has left.
  bool Close(Ticket ticket);

  /// From now on, the build of the ticket ends when its caller leaves.
  void EndWithCaller(Ticket ticket);

  /// Keeps a build that waits outside of flights, for a value that may never come. The build is
  /// dropped if the caller has left or leaves meanwhile.
  void Park(BuildPtr waiter);
  /// Returns the build. Null if the caller has left, or the table is being emptied.
  [[nodiscard]] BuildPtr TakeParked(Ticket ticket);

  struct Joined {
    uint64_t flight = 0;  ///< 0 if the caller has left before
    bool leads = false;   ///< whether the flight is new
    bool started = false;
    bool asking = false;    ///< whether it asks other nodes first, and is not queued yet
    std::stop_token ended;  ///< requested when the flight has its result or is given up
  };
  struct NewFlight {
    /// If false, no waiter joins after its compile has begun: the next caller gets a flight of its
    /// own.
    bool shared = true;
    bool asking = false;
  };
  /// Adds the waiter to the flight of this key, or to a new flight. Takes ownership, even if the
  /// caller has left.
  Joined Join(BuildPtr waiter, const Digest& key, NewFlight if_new);

  /// A waiter of a flight that no longer asks other nodes.
  struct Unqueued {
    Ticket ticket = 0;
    Account account;
    BuildPriority priority = BuildPriority::kNormal;
    std::shared_ptr<const BuildPlan> plan;
    bool missed = false;  ///< whether it is known only now that no tier has its result
  };
  /// From now on the waiters of this flight must be queued. Returns the present waiters.
  std::vector<Unqueued> EndAsking(uint64_t flight);
  /// Returns whether the compile of the flight has begun, or the flight is gone.
  [[nodiscard]] bool HasBegun(uint64_t flight) const;

  struct Started {
    std::shared_ptr<const BuildPlan> plan;
    Caller caller;                             ///< the caller that has waited longest
    std::shared_ptr<const Manifest> manifest;  ///< the shared manifest at this caller's look-up
    std::stop_token stop;
    int overtaken = 0;  ///< the restarts of that caller by other flights
  };
  /// Marks the flight's compile as begun. Returns none if it has begun before, is cancelled or is
  /// gone.
  std::optional<Started> Begin(uint64_t flight);

  /// Removes the waiters of other uids from the flight and returns them. From now on builds join it
  /// by `key`. A flight without waiters is cancelled and gone.
  std::vector<BuildPtr> TakeOthers(uint64_t flight, uid_t uid, const Digest& key);

  /// Ends the flight and returns its remaining waiters. If another answer came first, the running
  /// compile is cancelled.
  std::vector<BuildPtr> Finish(uint64_t flight);

  struct Left {
    uint64_t flight = 0;  ///< 0 if it waited in no flight
    bool last = false;    ///< whether no waiter is left, so that the flight is cancelled and gone
    BuildPtr waiter;
  };
  /// Ends the wait of the caller, which gets no answer. If it led its flight, the next waiter
  /// leads. A build with on_miss = finish keeps its place, unless its account has another such
  /// build in the flight.
  Left Leave(Ticket ticket);
  /// Removes the waiter from its flight, for an answer from another source, unless the flight's
  /// compile has begun. The ticket stays open.
  Left TakeOutOfLine(Ticket ticket);

  /// Returns the number of callers that wait in flights, including leaders.
  [[nodiscard]] size_t Waiting() const;
  /// Returns running flights, then the others by their first join. An administrator sees all
  /// flights. Another asker sees those with waiters of its uid, and only these waiters.
  /// kOverflowUid sees none. `*more` is the number of flights that are left out.
  [[nodiscard]] std::vector<FlightActivity> List(const Peer& asker, size_t* more) const;
  /// Returns the request of a waiter of this uid in a flight whose plan has this key, or null.
  /// Always null for kOverflowUid, which stands for many people. kInvalidRequest: several such keys
  /// begin with the prefix.
  [[nodiscard]] Result<std::shared_ptr<const BuildRequest>> RequestOf(const DigestPrefix& key,
                                                                      uid_t uid) const;

  /// Cancels all running compiles. No other compile begins after that.
  void CancelAll();
  /// Returns all waiters, including parked ones, and removes them from their flights.
  std::vector<BuildPtr> TakeAll();
  /// Blocks until no caller waits for an answer (true) or until the deadline (false).
  bool WaitUntilIdle(std::chrono::milliseconds deadline);

 private:
  struct Flight {
    Digest key;
    std::vector<BuildPtr> waiters;
    std::stop_source stop;
    bool shared = true;
    bool asking = false;
    bool started = false;
    std::chrono::steady_clock::time_point begun = {};  ///< set when the compile has begun
    bool joinable = true;
  };
  struct TicketState {
    uint64_t flight = 0;
    bool finishes = false;
    bool left = false;  ///< whether the caller has left; a build without `finishes` then ends at
                        ///< its next look-up
    BuildPtr parked = nullptr;

    [[nodiscard]] bool ends() const { return left && !finishes; }
  };

  void Forget(std::unordered_map<Ticket, TicketState>::iterator ticket) REQUIRES(mutex_);

  /// Requires that the ticket waits in a flight.
  Left RemoveWaiter(Ticket ticket, uint64_t id, std::stop_source* stop) REQUIRES(mutex_);
  void StopJoining(uint64_t id, Flight* flight) REQUIRES(mutex_);
  /// Returns whether the flight of this ticket has another build of its account with on_miss =
  /// finish.
  [[nodiscard]] bool IsFinishedForAnother(Ticket ticket, const TicketState& state) const
      REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar idle_;
  Ticket last_ticket_ GUARDED_BY(mutex_) = 0;
  size_t unattended_ GUARDED_BY(mutex_) = 0;  ///< open tickets whose builds continue without a
                                              ///< caller
  uint64_t last_flight_ GUARDED_BY(mutex_) = 0;
  size_t waiting_ GUARDED_BY(mutex_) = 0;      ///< in all flights
  bool cancelled_ GUARDED_BY(mutex_) = false;  ///< all flights, for good
  std::unordered_map<Ticket, TicketState> tickets_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Flight> flights_ GUARDED_BY(mutex_);
  std::unordered_map<Digest, uint64_t, DigestHash> joinable_ GUARDED_BY(mutex_);  ///< key -> flight
};

}  // namespace cccl_cache::daemon
