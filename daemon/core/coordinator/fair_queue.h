// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/result.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Items that wait for one of a fixed number of slots. Each account has its own queue, ordered by
/// priority and then by age, and the slots serve the queues in rotation. A queue of warm-ups alone
/// gets a turn only if all queues are such. An item that several users wait for is in each of their
/// queues and runs once, at the best of its places.
///
/// Ageing: after `turns_to_rise` turns of higher priorities in its queue, the oldest waiting item
/// moves up one priority. After `turns_of_others` turns of other queues, a queue of warm-ups gets a
/// turn. So every item advances on a busy node, and many old warm-ups stay warm-ups.
///
/// Containers: while a user of the node waits, containers get no two turns in a row, and at most
/// half of the slots. They share turns along the tree of control groups: the groups below one group
/// take turns for its share. So a container that makes groups gains no turn.
///
/// Parking: after an item has waited for its requester's files for `park_after` in all, each
/// further wait frees its slot, and it continues without a slot. An account with its maximum of
/// parked items does not take the last free slot.
///
/// Relief: if items of others hold all slots, an account without a running item gets one of a few
/// relief slots after a while. If none is left, an item that holds a slot and has waited for its
/// requester for `give_way_after` in all is told to end. Thread-safe.
class FairQueue {
 public:
  using Clock = std::chrono::steady_clock;
  struct Bounds {
    size_t slots = 2;
    size_t per_uid = 1024;
    size_t total = 8192;
    size_t relief_slots = 4;
    std::chrono::milliseconds relief_after{1000};
    std::chrono::milliseconds warm_up_relief_after{30'000};
    size_t parked_per_account = 2;
    size_t parked = 16;
    std::chrono::milliseconds park_after{1000};
    std::chrono::milliseconds give_way_after{5000};
    uint64_t turns_to_rise = 8;
    uint64_t turns_of_others = 64;
  };
  using Run = std::function<void(uint64_t item)>;

  /// Receives the beginning and end of a running item's waits for its requester. Does nothing once
  /// the item has ended, and may outlive the queue. Thread-safe.
  class Waits;

  /// `run` is called on a thread of its own for each item that runs, never under the queue's lock.
  FairQueue(const Bounds& bounds, Run run);
  ~FairQueue() { Close(); }
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  /// Starts no more items, and returns when the running ones have returned. Called by one thread.
  void Close();

  /// Adds the item to the account's queue. An item that waits there already rises if this priority
  /// is higher. One that waits in another account's queue stays there too; for it a full queue is
  /// no error. Returns kOverloaded if the item is new and the account's queue or the whole is full.
  Status Add(uint64_t item, Account account, BuildPriority priority = BuildPriority::kNormal);
  /// Removes the item from all queues. Returns false if it did not wait (any more).
  bool Remove(uint64_t item);

  /// Requires that the item runs.
  [[nodiscard]] std::shared_ptr<Waits> WaitsOf(uint64_t item) const;

  [[nodiscard]] size_t waiting() const;
  [[nodiscard]] size_t running() const;
  /// Sets `slots`, `running`, `queued` and `accounts`: of one account, or of all if none is given.
  void Describe(std::optional<Account> only, BuildActivity* activity) const;

 private:
  using Rank = int64_t;  ///< of a priority: the lowest goes first
  static constexpr size_t kRanks = 3;
  struct Place {
    Rank rank = 0;
    uint64_t number = 0;  ///< of the item, in the order in which they came
    auto operator<=>(const Place&) const = default;
  };
  struct Line {
    void Add(const Place& place, uint64_t item);

    std::map<Place, uint64_t> items;
    std::array<uint64_t, kRanks> passed_over = {};  ///< turns that better ranks had since
    uint64_t last_turn = 0;                         ///< of this queue; of all when it began
  };
  struct Group {
    size_t lines = 0;        ///< of the accounts below
    uint64_t last_turn = 0;  ///< of these; of all when the first queue began
  };
  struct Waiting {
    std::map<Account, Place> lines;
    uint64_t number = 0;
    Clock::time_point since;
  };
  struct Next {
    uint64_t item = 0;
    bool is_urgent = false;  ///< no warm-up, or one that has waited for long enough
    Clock::time_point relief_due = Clock::time_point::max();  ///< of the first to have one
  };

  /// An item that runs.
  struct Running {
    uint64_t item;
    Account account;
    HeldInAll& busy;  ///< the kind of slot that it holds unless it is parked
    std::optional<Clock::time_point> waits_since = std::nullopt;  ///< for its requester
    Clock::duration waited{0};                                    ///< before that
    bool parked = false;
    bool gives_way = false;
    std::shared_ptr<Waits> waits = nullptr;
  };
  struct Turn {
    Account account;
    HeldInAll& busy;
  };

  void Serve(std::stop_token stop);
  /// Parks items that wait for long, and wakes a thread when relief is due.
  void LookOut(std::stop_token stop);
  /// Returns the next item to run now, if any.
  std::optional<Turn> NextTurn() REQUIRES(mutex_);
  /// Returns the first item of the account, whose queue is not empty.
  Next NextOf(Account account) const REQUIRES(mutex_);
  /// Returns the account whose turn it is for a free slot, if there is one.
  std::optional<Account> NextInRotation() const REQUIRES(mutex_);
  /// Returns when the control groups on the way to the account had their last turn, and the account
  /// itself. Of two accounts, the lower one is to have its turn first.
  std::vector<uint64_t> LastTurns(Account account) const REQUIRES(mutex_);
  /// Runs the account's next item, without the lock.
  void RunNext(const Turn& turn) REQUIRES(mutex_);
  [[nodiscard]] bool MayPark(Account account) const REQUIRES(mutex_);
  [[nodiscard]] bool MayTakeFreeSlot(Account account) const REQUIRES(mutex_);
  void SetParked(Running& running, bool parked) REQUIRES(mutex_);
  void BeginWait(Running& running);
  void EndWait(Running& running);
  /// Parks the items that have waited for long enough and may be parked. Returns the time of the
  /// next check.
  Clock::time_point ParkWaiting() REQUIRES(mutex_);
  struct Relief {
    std::optional<Account> account = std::nullopt;  ///< to have a relief slot now
    HeldInAll lacking = {};                         ///< accounts that are due and find no slot
    Clock::time_point next = {};                    ///< time of the next check
  };
  Relief Relieved() const REQUIRES(mutex_);
  /// Returns the item to end now, so that an account gets a slot, or null. Items of the node's
  /// users don't end for containers. Lowers `next` to the time at which an item may have to end.
  Running* MustGiveWay(const HeldInAll& lacking, Clock::time_point* next) REQUIRES(mutex_);
  /// Removes the account's next item from all queues and returns it; the account's turn is over.
  uint64_t TakeNextOf(Account account) REQUIRES(mutex_);
  /// Gives the item this rank in the account's queue unless it has a better one.
  void Raise(Waiting& waiting, Account account, Rank rank) REQUIRES(mutex_);
  void RemoveFromLines(std::map<uint64_t, Waiting>::iterator item) REQUIRES(mutex_);

  const Bounds bounds_;
  const Run run_;

  mutable Mutex mutex_;
  CondVar added_;    ///< there may be something to run, for one thread
  CondVar changed_;  ///< wakes LookOut, which computes its next check
  std::map<Account, Line> lines_ GUARDED_BY(mutex_);     ///< no empty queues
  std::list<Account> rotation_ GUARDED_BY(mutex_);       ///< the accounts of lines_
  std::map<uint64_t, Group> groups_ GUARDED_BY(mutex_);  ///< on the ways of lines_
  std::map<uint64_t, Waiting> waiting_ GUARDED_BY(mutex_);
  std::map<Account, size_t> running_of_ GUARDED_BY(mutex_);  ///< no zeros; parked ones count
  std::map<Account, size_t> parked_of_ GUARDED_BY(mutex_);   ///< no zeros
  size_t waiting_in_containers_ GUARDED_BY(mutex_) = 0;      ///< places in queues of containers
  std::list<Running> running_ GUARDED_BY(mutex_);
  HeldInAll busy_slots_ GUARDED_BY(mutex_);
  HeldInAll busy_relief_slots_ GUARDED_BY(mutex_);
  HeldInAll parked_ GUARDED_BY(mutex_);
  bool containers_had_last_turn_ GUARDED_BY(mutex_) = false;
  uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  uint64_t turns_ GUARDED_BY(mutex_) = 0;    ///< of all queues so far
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  ///< of waiting and running items

  std::vector<std::jthread> threads_;  // last member: ended first
};

class FairQueue::Waits {
 public:
  Waits(FairQueue& queue, Running& running) : queue_(queue), running_(&running) {}

  /// `who` identifies the wait. Only the last one that began counts: an earlier one was given up.
  void Begin(const void* who);
  void End(const void* who);
  void Close();  ///< the item has ended
  /// Requested, without a lock, when the item is to end, because others need its slot.
  [[nodiscard]] std::stop_token gives_way() const { return gives_way_.get_token(); }

 private:
  friend class FairQueue;

  std::stop_source gives_way_;
  FairQueue& queue_;  ///< alive while `running_` is set

  Mutex mutex_;  ///< locked before that of the queue
  Running* running_ GUARDED_BY(mutex_);
  const void* who_ GUARDED_BY(mutex_) = nullptr;  ///< waits; null: nothing does
};

}  // namespace cccl_cache::daemon
