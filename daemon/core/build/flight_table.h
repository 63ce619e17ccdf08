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

/// One caller of Build, from its call to its answer. Owned by whoever moves it on: the thread that
/// looks things up for it, or the table while it waits in a flight or is parked.
struct Waiter {
  BuildCoordinator::Ticket ticket = 0;
  std::shared_ptr<const BuildRequest> request;
  Peer peer;
  CallerFilesPtr files;  ///< null: it sends none
  BuildCoordinator::Done done;
  std::chrono::steady_clock::time_point called;
  std::chrono::steady_clock::time_point joined;
  std::shared_ptr<const BuildPlan> plan;
  /// The plan under canonical names, if this one has the real ones only because paths may show.
  std::shared_ptr<const BuildPlan> to_be_proven;
  std::shared_ptr<const Manifest> known_of_that;  ///< by all users, when it was looked up
  /// A compile of its files under canonical names showed these: it needs the real ones. Not every
  /// build leaves a manifest that says so.
  bool shows_paths = false;
  bool missed = false;  ///< counted as a miss, once however often it starts again
  /// Its outcome if a tier holds its result: no longer a hit once it waited for that compile.
  Outcome if_found = Outcome::kHit;
  bool leads = false;
  bool joined_before_start = false;
  /// What was known of the plan's fingerprint when it was looked up.
  UsersManifest manifest;
  int restarts = 0;
  int overtaken = 0;  ///< how often it started again because another flight had landed
  int looks = 0;      ///< in a row for a toolchain that changed again each time
};
using WaiterPtr = std::unique_ptr<Waiter>;

/// Who waits for which compile. Only bookkeeping: starts nothing, calls nobody. Thread-safe.
class FlightTable {
 public:
  using Ticket = BuildCoordinator::Ticket;

  /// A ticket for a new caller.
  Ticket Open();
  /// The caller is about to be answered. False: it left, nobody wants the answer.
  bool Close(Ticket ticket);

  /// The waiter waits in no flight, for something that may never come. Gone if the caller left or
  /// leaves meanwhile.
  void Park(WaiterPtr waiter);
  /// Null: the caller left, or the table is being emptied.
  [[nodiscard]] WaiterPtr TakeParked(Ticket ticket);

  struct Joined {
    uint64_t flight = 0;  ///< 0: the caller left before
    bool leads = false;   ///< the flight is new
    bool started = false;
  };
  /// Adds the waiter to the flight of this key, or to a new one. Takes the waiter over, also if it
  /// left. A new flight that is not `shared` takes nobody in once its compile has begun: the next
  /// one who asks gets one of its own.
  Joined Join(WaiterPtr waiter, const Digest& key, bool shared);

  struct Started {
    std::shared_ptr<const BuildPlan> plan;
    Caller caller;                             ///< who waits longest
    std::shared_ptr<const Manifest> manifest;  ///< what all users knew when this one looked
    std::shared_ptr<const BuildPlan> to_be_proven;
    std::shared_ptr<const Manifest> known_of_that;
    std::stop_token stop;
    int overtaken = 0;  ///< that caller
  };
  /// The flight's compile begins. None: it began before, or is gone.
  std::optional<Started> Begin(uint64_t flight);

  /// Takes everybody of another uid out of the flight, which is joined by `key` from now on. One
  /// in which nobody is left is cancelled and gone.
  std::vector<WaiterPtr> TakeOthers(uint64_t flight, uid_t uid, const Digest& key);

  /// The flight is over: everybody who still waits in it. A compile that runs for it nevertheless,
  /// because it was answered otherwise, is cancelled.
  std::vector<WaiterPtr> Finish(uint64_t flight);

  struct Left {
    uint64_t flight = 0;  ///< 0: it waited in none
    bool last = false;    ///< nobody is left: the flight was cancelled and is gone
    WaiterPtr waiter;
  };
  /// The caller waits no longer, and will not be answered. If it led, the next one leads.
  Left Leave(Ticket ticket);
  /// The caller is taken out of its flight, unless the compile of that has begun, to be answered
  /// otherwise: its ticket stays open.
  Left TakeOutOfLine(Ticket ticket);

  /// Callers in flights, those who lead among them.
  [[nodiscard]] size_t Waiting() const;

  /// Cancels all compiles that run; no other begins.
  void CancelAll();
  /// Everybody who waits, in no flight any more.
  std::vector<WaiterPtr> TakeAll();
  /// True as soon as no ticket is open, false at the deadline.
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
