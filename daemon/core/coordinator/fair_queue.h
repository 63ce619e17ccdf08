// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
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
/// told to end. Thread-safe.
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
  };
  using Run = std::function<void(uint64_t item)>;
  /// The number of starts that may pass an item, except a warm-up, whose memory does not fit.
  static constexpr size_t kMaxPassedBy = 8;

  /// Receives the beginning and end of a running item's waits for its requester. Does nothing after
  /// the item has ended. May outlive the queue. Thread-safe.
  class Waits;

  /// `run` is called on its own thread for each running item. `make_room` is called when an item
  /// begins to wait for memory. No lock is held then. Without `memory` (null), items start
  /// regardless of their need.
  FairQueue(const Bounds& bounds, Run run, CompileMemory* memory = nullptr,
            std::function<void()> make_room = {});
  ~FairQueue() { Close(); }
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  /// Starts no more items. Returns when the running items have returned. Called by one thread.
  void Close();

  /// Adds the item, of the given kind for this account, to the account's queue. An item that waits
  /// in this queue already rises if this priority is higher. An item that waits in another
  /// account's queue stays in it too, and a full queue is no error for it. Returns kOverloaded if
  /// the item is new and the account's queue or the whole queue is full.
  Status Add(uint64_t item, Account account, BuildPriority priority = BuildPriority::kNormal,
             const CompileMemory::Kind& kind = {});
  /// Removes the item from all queues. Returns false if it did not wait.
  bool Remove(uint64_t item);

  /// Must be called when a compile outside of the queue has freed its memory.
  void MemoryFreed();

  /// Require that the item is running.
  [[nodiscard]] std::shared_ptr<Waits> WaitsOf(uint64_t item) const;
  [[nodiscard]] CompileMemory::Running* MemoryOf(uint64_t item) const;  ///< null without memory

  [[nodiscard]] size_t waiting() const;
  [[nodiscard]] size_t running() const;
  /// Sets `slots`, `running`, `queued` and `accounts`, of one account or, without an argument, of
  /// all.
  void Describe(std::optional<Account> only, BuildActivity* activity) const;

 private:
  struct Place {
    uint64_t order = 0;   ///< the lowest place goes first
    uint64_t number = 0;  ///< number of the item in the order of arrival in this queue
    BuildPriority priority = BuildPriority::kNormal;
    auto operator<=>(const Place&) const = default;
  };
  struct Entry {
    uint64_t item = 0;
    CompileMemory::Kind kind;
  };
  struct Line {
    [[nodiscard]] bool is_urgent() const { return warm_ups < items.size(); }

    std::map<Place, Entry> items;
    size_t warm_ups = 0;  ///< number of items that are warm-ups
    uint64_t last_number = 0;
    uint64_t last_turn = 0;  ///< turn number of this queue's last turn; initially that of all
                             ///< queues
    Clock::time_point since = Clock::now();
  };
  struct Group {
    size_t lines = 0;        ///< number of queues below the group
    uint64_t last_turn = 0;  ///< turn number of the last turn below; initially that of all queues
  };
  struct Waiting {
    std::map<Account, Place> lines;
    std::optional<size_t> passed_by = std::nullopt;  ///< set while it waits for memory
  };

  /// A running item.
  struct Running {
    uint64_t item;
    Account account;
    HeldInAll& busy;  ///< the kind of slot that it holds, unless it is parked
    CompileMemory::Running* memory = nullptr;
    std::optional<Clock::time_point> waits_since = std::nullopt;  ///< set while it waits for its
                                                                  ///< requester
    Clock::duration waited{0};                                    ///< total of its earlier waits
    bool parked = false;
    bool gives_way = false;
    std::shared_ptr<Waits> waits = nullptr;
  };
  struct Turn {
    uint64_t item;
    Account account;
    HeldInAll* busy;
    CompileMemory::RunningPtr memory;
  };

  void Serve(std::stop_token stop);
  /// Parks items that wait for long, and wakes a thread when relief is due.
  void LookOut(std::stop_token stop);
  /// Returns the next item to run. It has its memory, if it needs any.
  std::optional<Turn> NextTurn() REQUIRES(mutex_);
  /// Returns the accounts that may get a free slot, in rotation. Containers that hold half of the
  /// slots may not if a user may.
  std::vector<Account> Ready() const REQUIRES(mutex_);
  /// Returns which of these accounts has the next turn.
  Account FirstOf(const std::vector<Account>& ready) const REQUIRES(mutex_);
  /// Returns whether it is the first item in one of its queues that waits for memory.
  [[nodiscard]] bool IsFirstLacking(const Waiting& waiting) const REQUIRES(mutex_);
  /// Returns the oldest item of these accounts that was passed so often while it waited for memory
  /// that it must be next as soon as its memory fits. None if there is no such item.
  [[nodiscard]] std::optional<uint64_t> Overdue(const std::vector<Account>& ready) const
      REQUIRES(mutex_);
  /// Takes memory for the first item of the account whose memory fits.
  std::optional<Turn> Try(Account account, bool may_share, HeldInAll* busy) REQUIRES(mutex_);
  std::optional<Turn> Try(const Entry& entry, Account account, bool may_share, HeldInAll* busy)
      REQUIRES(mutex_);
  /// Returns the turn numbers of the last turns of the control groups on the way to the account,
  /// and of the account itself. Of two accounts, the lower one has its turn first.
  std::vector<uint64_t> LastTurns(Account account) const REQUIRES(mutex_);
  /// Runs the item without the lock.
  void RunNow(Turn turn) REQUIRES(mutex_);
  [[nodiscard]] bool MayPark(Account account) const REQUIRES(mutex_);
  [[nodiscard]] bool MayTakeFreeSlot(Account account) const REQUIRES(mutex_);
  void SetParked(Running& running, bool parked) REQUIRES(mutex_);
  void BeginWait(Running& running);
  void EndWait(Running& running);
  /// Parks the items that have waited for long enough and may be parked. Returns the time of the
  /// next check.
  Clock::time_point ParkWaiting() REQUIRES(mutex_);
  struct Relief {
    std::vector<Account> accounts = {};  ///< accounts that get a relief slot now
    HeldInAll lacking = {};              ///< accounts that are due and find no slot
    Clock::time_point next = {};         ///< time of the next check
  };
  Relief Relieved() const REQUIRES(mutex_);
  /// Returns the item that must end now, so that an account gets a slot, or null. Items of the
  /// node's users don't end for containers. Lowers `next` to the time at which an item may have to
  /// end.
  Running* MustGiveWay(const HeldInAll& lacking, Clock::time_point* next) REQUIRES(mutex_);
  /// Removes the item from all queues, and ends the account's turn.
  void Take(uint64_t item, Account account) REQUIRES(mutex_);
  [[nodiscard]] Place PlaceOf(uint64_t number, BuildPriority priority) const;
  static void AddTo(Line& line, const Place& place, const Entry& entry);
  static Entry RemoveFrom(Line& line, const Place& place);
  /// Raises the item to this priority in the account's queue, unless it has a better one.
  void Raise(uint64_t item, Account account, BuildPriority priority) REQUIRES(mutex_);
  void RemoveFromLines(std::map<uint64_t, Waiting>::iterator item) REQUIRES(mutex_);

  const Bounds bounds_;
  const Run run_;
  CompileMemory* const memory_;
  const std::function<void()> make_room_;

  mutable Mutex mutex_;
  CondVar added_;    ///< signals one thread that there may be an item to run
  CondVar changed_;  ///< wakes LookOut, which computes its next check
  std::map<Account, Line> lines_ GUARDED_BY(mutex_);     ///< queues with items
  std::list<Account> rotation_ GUARDED_BY(mutex_);       ///< the accounts in lines_
  std::map<uint64_t, Group> groups_ GUARDED_BY(mutex_);  ///< the groups on the ways to lines_
  std::map<uint64_t, Waiting> waiting_ GUARDED_BY(mutex_);
  std::list<uint64_t> lacking_ GUARDED_BY(mutex_);  ///< items that wait for memory, in order
  bool needs_room_ GUARDED_BY(mutex_) = false;      ///< whether make_room must be called
  std::map<Account, size_t> running_of_ GUARDED_BY(mutex_);  ///< without zeros; includes parked
                                                             ///< items
  std::map<Account, size_t> parked_of_ GUARDED_BY(mutex_);   ///< without zeros
  size_t waiting_in_containers_ GUARDED_BY(mutex_) = 0;      ///< places in queues of containers
  std::list<Running> running_ GUARDED_BY(mutex_);
  HeldInAll busy_slots_ GUARDED_BY(mutex_);
  HeldInAll busy_relief_slots_ GUARDED_BY(mutex_);
  HeldInAll parked_ GUARDED_BY(mutex_);
  bool containers_had_last_turn_ GUARDED_BY(mutex_) = false;
  uint64_t turns_ GUARDED_BY(mutex_) = 0;    ///< total of all queues
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  ///< of waiting and running items

  std::vector<std::jthread> threads_;  // last member, so that they end first
};

class FairQueue::Waits {
 public:
  Waits(FairQueue& queue, Running& running) : queue_(queue), running_(&running) {}

  /// `who` identifies the wait. Only the last wait counts, because an earlier wait was given up.
  void Begin(const void* who);
  void End(const void* who);
  void Close();  ///< called after the end of the item
  /// A stop is requested, without a lock, when the item must end because others need its slot.
  [[nodiscard]] std::stop_token gives_way() const { return gives_way_.get_token(); }

 private:
  friend class FairQueue;

  std::stop_source gives_way_;
  FairQueue& queue_;  ///< valid while `running_` is set

  Mutex mutex_;  ///< locked before the mutex of the queue
  Running* running_ GUARDED_BY(mutex_);
  const void* who_ GUARDED_BY(mutex_) = nullptr;  ///< the present wait; null for none
};

}  // namespace cccl_cache::daemon
