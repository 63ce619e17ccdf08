// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "daemon/core/build/coordinator.h"
#include "daemon/core/lookup/manifest.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// One caller of Build, from its call to its answer. Owned by the thread that looks things up for
/// it, or by the table while it waits in a flight or is parked.
struct Waiter {
  BuildCoordinator::Ticket ticket = 0;
  std::shared_ptr<const BuildRequest> request;
  Peer peer;
  CallerFilesPtr files;  ///< null: the caller sends none
  BuildCoordinator::Done done;
  std::chrono::steady_clock::time_point called;
  std::chrono::steady_clock::time_point joined;
  std::shared_ptr<const BuildPlan> plan;
  /// The plan under canonical names, if `plan` has the real ones only because paths may show.
  std::shared_ptr<const BuildPlan> to_be_proven;
  std::shared_ptr<const Manifest> known_of_that;  ///< of that plan, for all users, when looked up
  /// A compile of its files under canonical names showed paths, so it needs the real ones. Noted
  /// here because not every build leaves a manifest that says so.
  bool shows_paths = false;
  bool missed = false;  ///< counted as a miss, once however often it starts again
  /// Its outcome if a tier holds its result: no longer a hit once the waiter waited for that
  /// compile.
  Outcome if_found = Outcome::kHit;
  bool leads = false;
  bool joined_before_start = false;
  /// Manifest of the plan's fingerprint, as it was when looked up.
  UsersManifest manifest;
  int restarts = 0;
  int overtaken = 0;  ///< how often it started again because another flight had ended
  int looks = 0;      ///< waits in a row for a toolchain that changed again each time
};
using WaiterPtr = std::unique_ptr<Waiter>;

/// Records which caller waits for which compile. Only bookkeeping: starts nothing, calls nothing
/// back. Thread-safe.
class FlightTable {
 public:
  using Ticket = BuildCoordinator::Ticket;

  /// Returns a ticket for a new caller.
  Ticket Open();
  /// Ends the ticket of a caller that is about to be answered. Returns false if the caller left, so
  /// that no answer is wanted.
  bool Close(Ticket ticket);

  /// Keeps a waiter that waits in no flight, for something that may never come. The waiter is gone
  /// if the caller left or leaves meanwhile.
  void Park(WaiterPtr waiter);
  /// Returns null if the caller left or the table is being emptied.
  [[nodiscard]] WaiterPtr TakeParked(Ticket ticket);

  struct Joined {
    uint64_t flight = 0;  ///< 0: the caller left before
    bool leads = false;   ///< the flight is new
    bool started = false;
  };
  /// Adds the waiter to the flight of this key, or to a new one. Takes the waiter over, also if the
  /// caller left. A new flight that is not `shared` takes no waiter in once its compile has begun:
  /// the next caller gets a flight of its own.
  Joined Join(WaiterPtr waiter, const Digest& key, bool shared);

  struct Started {
    std::shared_ptr<const BuildPlan> plan;
    Caller caller;                             ///< the one that waits longest
    std::shared_ptr<const Manifest> manifest;  ///< what all users knew when this caller looked
    std::shared_ptr<const BuildPlan> to_be_proven;
    std::shared_ptr<const Manifest> known_of_that;
    std::stop_token stop;
    int overtaken = 0;  ///< of that caller
  };
  /// Marks the flight's compile as begun. Returns none if it began before, is cancelled or is gone.
  std::optional<Started> Begin(uint64_t flight);

  /// Takes the waiters of other uids out of the flight and returns them. From now on `key` joins
  /// the flight. A flight that has no waiter left is cancelled and gone.
  std::vector<WaiterPtr> TakeOthers(uint64_t flight, uid_t uid, const Digest& key);

  /// Ends the flight and returns its remaining waiters. If its compile still runs, because the
  /// flight was answered otherwise, that is cancelled.
  std::vector<WaiterPtr> Finish(uint64_t flight);

  struct Left {
    uint64_t flight = 0;  ///< 0: it waited in none
    bool last = false;    ///< no waiter is left: the flight was cancelled and is gone
    WaiterPtr waiter;
  };
  /// The caller waits no longer and will not be answered. If it led its flight, the next waiter
  /// leads.
  Left Leave(Ticket ticket);
  /// Takes the waiter out of its flight, to be answered otherwise, unless the flight's compile has
  /// begun. The ticket stays open.
  Left TakeOutOfLine(Ticket ticket);

  /// Returns how many callers wait in flights, leaders included.
  [[nodiscard]] size_t Waiting() const;

  /// Cancels all running compiles; no other begins.
  void CancelAll();
  /// Returns all waiters, parked ones included; they are in no flight any more.
  std::vector<WaiterPtr> TakeAll();
  /// Returns true as soon as no ticket is open, false at the deadline.
  bool WaitUntilIdle(std::chrono::milliseconds deadline);

 private:
  struct Flight {
    Digest key;
    std::vector<WaiterPtr> waiters;
    std::stop_source stop;
    bool shared = true;
    bool started = false;
    bool joinable = true;
  };
  struct TicketState {
    uint64_t flight = 0;
    bool left = false;
    WaiterPtr parked = nullptr;
  };

  // Requires mutex_ held.
  void Forget(std::unordered_map<Ticket, TicketState>::iterator ticket);

  // Requires mutex_ held and a ticket that waits in a flight.
  Left RemoveWaiter(Ticket ticket, uint64_t id, std::stop_source* stop);
  void StopJoining(uint64_t id, Flight* flight);

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  uint64_t last_ticket_ = 0;                                   // guarded by mutex_
  uint64_t last_flight_ = 0;                                   // guarded by mutex_
  size_t waiting_ = 0;                                         // guarded by mutex_: in all flights
  bool cancelled_ = false;                                     // guarded by mutex_: all, for good
  std::unordered_map<Ticket, TicketState> tickets_;            // guarded by mutex_
  std::unordered_map<uint64_t, Flight> flights_;               // guarded by mutex_
  std::unordered_map<Digest, uint64_t, DigestHash> joinable_;  // guarded by mutex_: key -> flight
};

}  // namespace cccl_cache::daemon
