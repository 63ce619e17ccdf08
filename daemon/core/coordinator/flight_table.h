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

/// Records which caller waits for which compile. Only bookkeeping: starts nothing, calls nothing
/// back. Thread-safe.
class FlightTable {
 public:
  using Ticket = Build::Ticket;

  /// Returns a ticket for a new caller. `finishes`: its build goes on when the caller leaves, as if
  /// it were to be answered.
  Ticket Open(bool finishes = false);
  /// Ends the ticket of a caller that is about to be answered. Returns false if the caller left, so
  /// that no answer is wanted.
  bool Close(Ticket ticket);

  /// The ticket's build finishes no more without its caller.
  void EndWithCaller(Ticket ticket);

  /// Keeps a waiter that waits in no flight, for something that may never come. The waiter is gone
  /// if the caller left or leaves meanwhile.
  void Park(BuildPtr waiter);
  /// Returns null if the caller left or the table is being emptied.
  [[nodiscard]] BuildPtr TakeParked(Ticket ticket);

  struct Joined {
    uint64_t flight = 0;  ///< 0: the caller left before
    bool leads = false;   ///< the flight is new
    bool started = false;
    bool asking = false;    ///< it asks other nodes first, so it has no place in the queue yet
    std::stop_token ended;  ///< requested when the flight has its result or is given up
  };
  struct NewFlight {
    /// If not, it takes no waiter in once its compile has begun: the next caller gets a flight of
    /// its own.
    bool shared = true;
    bool asking = false;
  };
  /// Adds the waiter to the flight of this key, or to a new one. Takes the waiter over, also if the
  /// caller left.
  Joined Join(BuildPtr waiter, const Digest& key, NewFlight if_new);

  /// A waiter of a flight that asks no other nodes any more.
  struct Unqueued {
    Ticket ticket = 0;
    Account account;
    BuildPriority priority = BuildPriority::kNormal;
    bool missed = false;  ///< only now it is known that no tier has its result
  };
  /// From now on the waiters of this flight are to be in the queue. Returns all that it has.
  std::vector<Unqueued> EndAsking(uint64_t flight);
  /// Returns whether the flight's compile has begun, or it is gone.
  [[nodiscard]] bool HasBegun(uint64_t flight) const;

  struct Started {
    std::shared_ptr<const BuildPlan> plan;
    Caller caller;                             ///< the one that waits longest
    std::shared_ptr<const Manifest> manifest;  ///< what all users knew when this caller looked
    std::stop_token stop;
    int overtaken = 0;  ///< of that caller
  };
  /// Marks the flight's compile as begun. Returns none if it began before, is cancelled or is gone.
  std::optional<Started> Begin(uint64_t flight);

  /// Returns the accounts that wait in the flight, each once.
  [[nodiscard]] std::vector<Account> AccountsOf(uint64_t flight) const;

  /// Takes the waiters of other uids out of the flight and returns them. From now on `key` joins
  /// the flight. A flight that has no waiter left is cancelled and gone.
  std::vector<BuildPtr> TakeOthers(uint64_t flight, uid_t uid, const Digest& key);

  /// Ends the flight and returns its remaining waiters. If its compile still runs, because the
  /// flight was answered otherwise, that is cancelled.
  std::vector<BuildPtr> Finish(uint64_t flight);

  struct Left {
    uint64_t flight = 0;  ///< 0: it waited in none
    bool last = false;    ///< no waiter is left: the flight was cancelled and is gone
    BuildPtr waiter;
  };
  /// The caller waits no longer and will not be answered. If it led its flight, the next waiter
  /// leads. A waiter that finishes stays, unless the flight has another one of its account.
  Left Leave(Ticket ticket);
  /// Takes the waiter out of its flight, to be answered otherwise, unless the flight's compile has
  /// begun. The ticket stays open.
  Left TakeOutOfLine(Ticket ticket);

  /// Returns how many callers wait in flights, leaders included.
  [[nodiscard]] size_t Waiting() const;
  /// Returns flights, those that run first, then those that were joined first: all of them for an
  /// administrator, else those with waiters of the asker's uid, as if it were alone. For
  /// kOverflowUid, none. `*more`: how many are left out.
  [[nodiscard]] std::vector<FlightActivity> List(const Peer& asker, size_t* more) const;
  /// Returns the request of a waiter of this uid in a flight whose plan has this key, or null.
  /// Null for kOverflowUid, whose waiters are other people's. kInvalidRequest: several keys of such
  /// plans begin with the prefix.
  [[nodiscard]] Result<std::shared_ptr<const BuildRequest>> RequestOf(const DigestPrefix& key,
                                                                      uid_t uid) const;

  /// Cancels all running compiles; no other begins.
  void CancelAll();
  /// Returns all waiters, parked ones included; they are in no flight any more.
  std::vector<BuildPtr> TakeAll();
  /// Returns true as soon as no caller waits for an answer, false at the deadline.
  bool WaitUntilIdle(std::chrono::milliseconds deadline);

 private:
  struct Flight {
    Digest key;
    std::vector<BuildPtr> waiters;
    std::stop_source stop;
    bool shared = true;
    bool asking = false;
    bool started = false;
    std::chrono::steady_clock::time_point begun = {};  ///< once started
    bool joinable = true;
  };
  struct TicketState {
    uint64_t flight = 0;
    bool finishes = false;
    bool left = false;  ///< the caller; unless it finishes, the build ends where it is found next
    BuildPtr parked = nullptr;

    [[nodiscard]] bool ends() const { return left && !finishes; }
  };

  void Forget(std::unordered_map<Ticket, TicketState>::iterator ticket) REQUIRES(mutex_);

  /// Requires a ticket that waits in a flight.
  Left RemoveWaiter(Ticket ticket, uint64_t id, std::stop_source* stop) REQUIRES(mutex_);
  void StopJoining(uint64_t id, Flight* flight) REQUIRES(mutex_);
  /// Returns whether the flight of this ticket, if it waits in one, has another waiter of its
  /// account that finishes.
  [[nodiscard]] bool IsFinishedForAnother(Ticket ticket, const TicketState& state) const
      REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar idle_;
  Ticket last_ticket_ GUARDED_BY(mutex_) = 0;
  size_t unattended_ GUARDED_BY(mutex_) = 0;  ///< open tickets whose builds finish without a caller
  uint64_t last_flight_ GUARDED_BY(mutex_) = 0;
  size_t waiting_ GUARDED_BY(mutex_) = 0;      ///< in all flights
  bool cancelled_ GUARDED_BY(mutex_) = false;  ///< all, for good
  std::unordered_map<Ticket, TicketState> tickets_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Flight> flights_ GUARDED_BY(mutex_);
  std::unordered_map<Digest, uint64_t, DigestHash> joinable_ GUARDED_BY(mutex_);  ///< key -> flight
};

}  // namespace cccl_cache::daemon
