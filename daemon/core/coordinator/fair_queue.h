// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/coordinator/reservations.h"
#include "daemon/core/coordinator/waiting_items.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/result.h"
#include "daemon/core/run/compile_memory.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Items that wait for one of a fixed number of slots and for memory. No item holds one while it
/// waits for the other. Each account has its own queue, ordered by priority and then by age, and
/// the slots serve the queues in rotation. A queue that has only warm-ups gets a turn only if all
/// queues are such. An item for which several users wait is in each of their queues, and runs once,
/// at the best of its places.
///
/// Every item advances on a busy node. At most `per_uid` later items of the next better priority go
/// before it, and a queue of warm-ups gets a turn after `turns_of_others` turns of other queues.
///
/// Containers: while a user of the node waits, containers get no two successive turns, and at most
/// half of the slots. If no waiting user's memory fits, they may get successive turns. They share
/// turns along the tree of control groups: the groups below one group take turns for its share. A
/// container that makes groups thus gains no turn.
///
/// Memory: an item whose memory does not fit lets other items go first, also in its own queue.
/// While items wait for memory, users without a running item come first. Items that take shared
/// memory pass the first item of each queue that waits for memory. After `kMaxPassedBy` others (for
/// a warm-up, `turns_of_others`) have passed an item, it is next, and others get only memory of the
/// reserve (CompileMemory).
///
/// Parking: after an item has waited for its requester's files for `park_after` in total, each
/// further wait frees its slot, and it continues without a slot. An account with its maximum of
/// parked items does not take the last free slot.
///
/// Relief: if other accounts' items hold all slots, an account without a running item that has
/// waited for `relief_after` gets one of a few relief slots, unless it has only warm-ups. If none
/// is left, an item with a slot that has waited for its requester for `give_way_after` in total is
/// told to end.
///
/// Reservations: runs of tools that clients start themselves wait here for memory alone, by the
/// same rules. They take turns after the items that may have a slot. A reservation that is held for
/// `reserved_for` counts no more if another account's item waits for memory. Thread-safe.
class FairQueue {
 public:
  using Clock = std::chrono::steady_clock;
  struct Bounds {
    size_t slots = 2;
    size_t per_uid = 1024;
    size_t total = 8192;
    size_t relief_slots = 4;
    std::chrono::milliseconds relief_after{1000};
    size_t parked_per_account = 2;
    size_t parked = 16;
    std::chrono::milliseconds park_after{1000};
    std::chrono::milliseconds give_way_after{5000};
    uint64_t turns_of_others = 64;
    std::chrono::milliseconds reserved_for{60'000};
  };
  /// The number of starts that may pass an item, except a warm-up, whose memory does not fit.
  static constexpr size_t kMaxPassedBy = WaitingItems::kMaxPassedBy;

  /// Records when a running item waits for files of its requester. It may outlive the queue. It
  /// ignores calls after the end of the item. Thread-safe.
  class Waits;
  /// What one run of an item has of the queue. An item that is added again before its run has begun
  /// runs once more, perhaps at the same time, with another slot.
  struct Slot {
    std::shared_ptr<Waits> waits;
    CompileMemory::Running* memory;  ///< valid during the run; null if the queue has no `memory`
  };
  using Run = std::function<void(uint64_t item, const Slot& slot)>;

  /// For each running item, `run` is called on a thread of the queue. `make_room` is called when an
  /// item begins to wait for memory. The queue holds no lock during these calls. If `memory` is
  /// null, items start without regard to their memory.
  FairQueue(const Bounds& bounds, Run run, CompileMemory* memory = nullptr,
            std::function<void()> make_room = {});
  ~FairQueue() { Close(); }
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  /// Starts no more items. Returns when all running items have ended. May be called by one thread
  /// only.
  void Close();

  /// Adds the item to the queue of the account. `kind` is the kind of its memory estimate for this
  /// account. If the item is already in this queue, it gets `priority` if that is higher than
  /// before. If the item waits in another account's queue, it stays there too, and it is no error
  /// if this account's queue is full. Returns kOverloaded if a new item finds the account's queue
  /// or the whole queue full.
  Status Add(uint64_t item, Account account, BuildPriority priority = BuildPriority::kNormal,
             const CompileMemory::Kind& kind = {});
  /// Adds a run that needs memory of this kind to the queue of the kind's account. `reserved` is
  /// called once, without a lock, on a thread of the queue, unless the item is removed before.
  /// Returns the item, or kOverloaded as Add does.
  Result<uint64_t> Reserve(const CompileMemory::Kind& kind, Reserved reserved);
  /// Updates the estimate of the kind with the peak memory of a run that has ended.
  void NotePeak(const CompileMemory::Kind& kind, uint64_t peak_bytes);
  /// Answers all waiting reservations, and all later ones, without memory.
  void StopReserving();
  /// Removes the item from all queues. Returns false if the item was in no queue.
  bool Remove(uint64_t item);

  /// Must be called when a compile that is not in the queue has freed memory of `memory`.
  void MemoryFreed();

  [[nodiscard]] size_t waiting() const;
  [[nodiscard]] size_t running() const;
  /// Sets `slots`, `running`, `queued` and `accounts` in `*activity`. `accounts` contains the
  /// account `only`, or all accounts without `only`.
  void Describe(std::optional<Account> only, BuildActivity* activity) const;

 private:
  using Entry = WaitingItems::Entry;
  using Accounts = WaitingItems::Accounts;

  /// A running item.
  struct Running {
    uint64_t item;
    Account account;
    HeldInAll& busy;  ///< counts the slots of the kind that the item has, unless it is parked
    CompileMemory::Running* memory = nullptr;
    std::optional<Clock::time_point> waits_since = std::nullopt;  ///< start of its present wait for
                                                                  ///< files; none: it does not wait
    Clock::duration waited{0};                                    ///< total of its earlier waits
    bool parked = false;
    bool gives_way = false;
    std::shared_ptr<Waits> waits = nullptr;
  };
  struct Turn {
    uint64_t item;
    Account account;
    HeldInAll* busy;  ///< null for a reservation
    CompileMemory::RunningPtr memory;
  };

  void Serve(std::stop_token stop);
  /// Parks items that have waited long enough, and asks items to end that must. Wakes a thread when
  /// an account may get a relief slot.
  void LookOut(std::stop_token stop);
  /// Returns the next item to run, with the memory that was taken for it. None if no item can run
  /// now.
  std::optional<Turn> NextTurn() REQUIRES(mutex_);
  /// Returns the accounts that may get a free slot, in rotation. Containers that hold half of the
  /// slots may not if a user may.
  [[nodiscard]] Accounts Ready() const REQUIRES(mutex_);
  std::optional<Turn> TryOverdue(uint64_t item, const Accounts& ready, HeldInAll* busy)
      REQUIRES(mutex_);
  /// Takes memory for the first item of these accounts whose memory is free. The accounts are
  /// tried in the order of their turns.
  std::optional<Turn> Try(Accounts ready, bool may_share, HeldInAll* busy) REQUIRES(mutex_);
  /// Takes memory for the first of the account's items, or with a null `busy` of its reservations,
  /// whose memory is free. `may_share`: whether the item may use the shared part of the memory.
  std::optional<Turn> Try(Account account, bool may_share, HeldInAll* busy) REQUIRES(mutex_);
  std::optional<Turn> Try(const Entry& entry, Account account, bool may_share, HeldInAll* busy)
      REQUIRES(mutex_);
  /// Runs the item, and unlocks the mutex while it runs.
  void RunNow(Turn turn) REQUIRES(mutex_);
  /// Calls the item's `reserved`, and unlocks the mutex for that.
  void Grant(Turn turn) REQUIRES(mutex_);
  /// Removes the item of this turn from the queues. Returns its `reserved`.
  Reserved Take(const Turn& turn) REQUIRES(mutex_);
  void EndReservation(Reservation* reservation);
  /// Frees the memory of reservations that are held for too long while other accounts wait for
  /// memory. Returns the time at which it must be called again.
  Clock::time_point EndLongReservations() REQUIRES(mutex_);
  [[nodiscard]] bool MayPark(Account account) const REQUIRES(mutex_);
  [[nodiscard]] bool MayTakeFreeSlot(Account account) const REQUIRES(mutex_);
  void SetParked(Running& running, bool parked) REQUIRES(mutex_);
  void BeginWait(Running& running);
  void EndWait(Running& running);
  /// Parks the items that have waited for their requesters long enough, as far as the limits allow.
  /// Returns the time at which it must be called again.
  Clock::time_point ParkWaiting() REQUIRES(mutex_);
  struct Relief {
    std::vector<Account> accounts = {};  ///< accounts that get a relief slot now
    HeldInAll lacking = {};              ///< accounts that should get a relief slot, but none is
                                         ///< free
    Clock::time_point next = {};         ///< time at which the next account may get a relief slot
  };
  Relief Relieved() const REQUIRES(mutex_);
  /// Returns the running item that must end now so that an account in `lacking` gets a slot.
  /// Returns null if there is none. Items of the node's users don't end for containers. If an item
  /// has to end later, lowers `*next` to that time.
  Running* MustGiveWay(const HeldInAll& lacking, Clock::time_point* next) REQUIRES(mutex_);

  const Bounds bounds_;
  const Run run_;
  CompileMemory* const memory_;
  const std::function<void()> make_room_;

  mutable Mutex mutex_;
  CondVar added_;    ///< signals one thread that there may be an item to run
  CondVar changed_;  ///< wakes the thread of LookOut, because the time of its next check may have
                     ///< changed
  WaitingItems waiting_ GUARDED_BY(mutex_);
  bool needs_room_ GUARDED_BY(mutex_) = false;               ///< whether make_room must be called
  std::map<Account, size_t> running_of_ GUARDED_BY(mutex_);  ///< accounts with running items, of
                                                             ///< which some may be parked
  std::map<Account, size_t> parked_of_ GUARDED_BY(mutex_);   ///< accounts with parked items
  std::list<Running> running_ GUARDED_BY(mutex_);
  HeldReservations held_ GUARDED_BY(mutex_);
  uint64_t last_reservation_ GUARDED_BY(mutex_) = 0;
  bool grants_ GUARDED_BY(mutex_) = true;  ///< false after StopReserving
  HeldInAll busy_slots_ GUARDED_BY(mutex_);
  HeldInAll busy_relief_slots_ GUARDED_BY(mutex_);
  HeldInAll parked_ GUARDED_BY(mutex_);
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  ///< number of changes to waiting or running items

  std::vector<std::jthread> threads_;  // last member, so that the threads end before the other
                                       // members are destroyed
};

class FairQueue::Waits {
 public:
  Waits(FairQueue& queue, Running& running) : queue_(queue), running_(&running) {}

  /// Report the beginning and the end of a wait. `who` identifies the wait. If Begin is called
  /// during a wait, the earlier wait has been given up: it ends, and a later End for it is ignored.
  void Begin(const void* who);
  void End(const void* who);
  void Close();  ///< must be called after the end of the item
  /// Returns a token on which a stop is requested when the item must end, because others need its
  /// slot. The queue holds no lock during the request.
  [[nodiscard]] std::stop_token gives_way() const { return gives_way_.get_token(); }

 private:
  friend class FairQueue;

  std::stop_source gives_way_;
  FairQueue& queue_;  ///< valid only while `running_` is not null

  Mutex mutex_;  ///< locked before the mutex of the queue
  Running* running_ GUARDED_BY(mutex_);
  const void* who_ GUARDED_BY(mutex_) = nullptr;  ///< identifies the present wait; null if there is
                                                  ///< none
};

}  // namespace cccl_cache::daemon
