// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/core/coordinator/reservations.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/run/compile_memory.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The waiting items of a FairQueue: a queue for each account, the order of the accounts' turns,
/// and the items whose memory was not free. Its rules are those of FairQueue. Not thread-safe.
class WaitingItems {
 public:
  using Clock = std::chrono::steady_clock;
  using Accounts = std::vector<Account>;
  using Predicate = std::function<bool(Account)>;
  struct Bounds {
    size_t per_uid;
    size_t total;
    uint64_t turns_of_others;
  };
  /// As in FairQueue.
  static constexpr size_t kMaxPassedBy = 8;

  struct Place {
    uint64_t order = 0;   ///< the item with the lowest value goes first
    uint64_t number = 0;  ///< number of the item in the order of arrival in this queue
    BuildPriority priority = BuildPriority::kNormal;
    auto operator<=>(const Place&) const = default;
  };
  struct Entry {
    uint64_t item = 0;
    CompileMemory::Kind kind;
  };
  /// The queue of one account.
  struct Line {
    [[nodiscard]] bool is_urgent() const { return warm_ups < items.size(); }
    [[nodiscard]] size_t size() const { return items.size() + reservations.size(); }
    /// Returns the items of the queue that take turns with each other.
    [[nodiscard]] const std::map<Place, Entry>& Of(bool reserves) const {
      return reserves ? reservations : items;
    }

    std::map<Place, Entry> items;
    std::map<Place, Entry> reservations;
    size_t warm_ups = 0;  ///< number of the items with the priority kWarmUp
    uint64_t last_number = 0;
    uint64_t last_turn = 0;  ///< value of `turns_` at this queue's last turn, or when the queue was
                             ///< added
    Clock::time_point since = Clock::now();
  };

  /// `memory` is told when an item begins and ends to wait for memory. It may be null.
  WaitingItems(const Bounds& bounds, CompileMemory* memory) : bounds_(bounds), memory_(memory) {}

  /// As FairQueue::Add.
  Status Add(uint64_t item, Account account, BuildPriority priority,
             const CompileMemory::Kind& kind);
  /// Adds a new item that needs memory alone, to the queue of the kind's account. Returns
  /// kOverloaded as Add does; `reserved` then remains the caller's.
  Status AddReservation(uint64_t item, const CompileMemory::Kind& kind, Reserved&& reserved);
  /// Removes the item from all queues, and returns its `reserved`, which is empty if it needs a
  /// slot. None if the item was in no queue.
  std::optional<Reserved> Remove(uint64_t item);
  /// Removes all reservations.
  std::vector<Reserved> RemoveReservations();
  /// Removes the item as Remove does, and counts this as the account's turn. If the item `passes`,
  /// counts that for the items that wait for memory.
  Reserved Take(uint64_t item, Account account, bool passes);
  /// Moves the account to the end of the rotation.
  void MoveBack(Account account);
  /// Records that the item waits for memory. Returns false if it did before.
  bool BeginLacking(uint64_t item);

  [[nodiscard]] size_t items() const { return waiting_.size() - reserving_; }
  [[nodiscard]] size_t reservations() const { return reserving_; }
  /// Returns whether an item waits for memory.
  [[nodiscard]] bool lacks_memory() const { return !lacking_.empty(); }
  /// Returns whether an item that is not in the account's queue waits for memory.
  [[nodiscard]] bool OthersLack(Account account) const;
  /// Returns the accounts' queues. None of them is empty.
  [[nodiscard]] const std::map<Account, Line>& lines() const { return lines_; }
  /// Returns the accounts of lines(), in the order of their turns.
  [[nodiscard]] const std::list<Account>& rotation() const { return rotation_; }
  [[nodiscard]] bool Reserves(uint64_t item) const { return waiting_.at(item).reserves(); }
  /// Returns the entries of the item in its queues.
  [[nodiscard]] std::vector<std::pair<Account, Entry>> EntriesOf(uint64_t item) const;

  /// Returns the accounts that may get a free slot, in rotation, of those that `may_start`.
  [[nodiscard]] Accounts Ready(const Predicate& may_start) const;
  /// Returns the accounts with waiting reservations, in rotation.
  [[nodiscard]] Accounts Reserving() const;
  /// Returns the account, of those in `ready`, that has the next turn. `ready` must not be empty.
  /// `runs` tells whether an account has running items or reservations.
  [[nodiscard]] Account FirstOf(const Accounts& ready, const Predicate& runs) const;
  /// Returns the oldest item of the accounts in `ready`, or reservation of those in `reserving`,
  /// that was passed so often while it waited for memory that it must be next as soon as its memory
  /// fits. None if there is no such item.
  [[nodiscard]] std::optional<uint64_t> Overdue(const Accounts& ready,
                                                const Accounts& reserving) const;

 private:
  struct Group {
    size_t lines = 0;        ///< number of queues of accounts in this control group
    uint64_t last_turn = 0;  ///< value of `turns_` at the last turn of one of these queues, or when
                             ///< the group was added
  };
  struct Waiting {
    std::map<Account, Place> lines;
    /// How many items have overtaken this item since it began to wait for memory. None if it does
    /// not wait for memory.
    std::optional<size_t> passed_by = std::nullopt;
    Reserved reserved = {};  ///< empty if the item needs a slot

    [[nodiscard]] bool reserves() const { return reserved != nullptr; }
  };
  using Found = std::map<uint64_t, Waiting>::iterator;

  /// Returns an error if no more items may wait in the account's queue, or if the item `is_new` in
  /// all queues.
  [[nodiscard]] Status CheckRoom(Account account, bool is_new) const;
  /// Adds the item to the account's queue.
  void AddTo(Account account, uint64_t item, BuildPriority priority,
             const CompileMemory::Kind& kind);
  [[nodiscard]] Place PlaceOf(uint64_t number, BuildPriority priority) const;
  static void AddTo(Line& line, const Place& place, const Entry& entry);
  static Entry RemoveFrom(Line& line, const Place& place);
  /// Raises the item in the account's queue to `priority`, unless its priority is already at least
  /// that.
  void Raise(Waiting& waiting, Account account, BuildPriority priority);
  Reserved Remove(Found item);
  /// Returns the number of the last turn of each control group above the account, from the
  /// outermost group, and then of the account itself. The account with the smaller sequence has the
  /// next turn.
  [[nodiscard]] std::vector<uint64_t> LastTurns(Account account) const;
  /// Returns whether it is the first item in one of its queues that waits for memory.
  [[nodiscard]] bool IsFirstLacking(const Waiting& waiting) const;

  const Bounds bounds_;
  CompileMemory* const memory_;
  std::map<Account, Line> lines_;
  std::list<Account> rotation_;
  std::map<uint64_t, Group> groups_;  ///< all control groups above the accounts in lines_
  std::map<uint64_t, Waiting> waiting_;
  std::list<uint64_t> lacking_;       ///< items that wait for memory, oldest first
  size_t waiting_in_containers_ = 0;  ///< number of entries in the queues of containers
  size_t reserving_ = 0;              ///< number of waiting reservations
  uint64_t turns_ = 0;                ///< total turns of all queues
  bool containers_had_last_turn_ = false;
};

}  // namespace cccl_cache::daemon
