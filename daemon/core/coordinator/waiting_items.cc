// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/waiting_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace cccl_cache::daemon {
namespace {

// The time after which a refused caller may retry. It is only a hint: under common loads a slot
// becomes free within this time.
constexpr std::chrono::milliseconds kRetryQueued{500};

/// Returns the place of the priority in a queue: the lowest rank goes first.
uint64_t RankOf(BuildPriority priority) {
  switch (priority) {
    case BuildPriority::kInteractive:
      return 0;
    case BuildPriority::kNormal:
      return 1;
    case BuildPriority::kWarmUp:
      return 2;
  }
  return 1;
}

}  // namespace

Status WaitingItems::Add(uint64_t item, Account account, BuildPriority priority,
                         const CompileMemory::Kind& kind) {
  const auto known = waiting_.find(item);
  if (known != waiting_.end() && known->second.lines.contains(account)) {
    Raise(known->second, account, priority);
    return Ok{};
  }
  const bool is_new = known == waiting_.end();
  const Status room = CheckRoom(account, is_new);
  // The item keeps its place in the other queues.
  if (!room) return is_new ? room : Status(Ok{});
  AddTo(account, item, priority, kind);
  return Ok{};
}

Status WaitingItems::AddReservation(uint64_t item, const CompileMemory::Kind& kind,
                                    Reserved&& reserved) {
  if (const Status room = CheckRoom(kind.account, true); !room) return room;
  waiting_[item].reserved = std::move(reserved);
  AddTo(kind.account, item, BuildPriority::kNormal, kind);
  ++reserving_;
  return Ok{};
}

Status WaitingItems::CheckRoom(Account account, bool is_new) const {
  const auto line = lines_.find(account);
  const size_t mine = line == lines_.end() ? 0 : line->second.size();
  if (mine >= bounds_.per_uid) {
    return Error{
        ErrorCode::kOverloaded,
        fmt::format("{} already; to let more wait, raise queue_limit_per_uid in the "
                    "daemon's configuration",
                    bounds_.per_uid == 1
                        ? fmt::format("1 build of {} waits", account.Name())
                        : fmt::format("{} builds of {} wait", bounds_.per_uid, account.Name())),
        kRetryQueued};
  }
  const Allowance allowance{bounds_.per_uid, bounds_.total};
  const HeldInAll held{waiting_.size(), waiting_in_containers_};
  if (is_new && mine >= allowance.Most(account, mine, held)) {
    return Error{ErrorCode::kOverloaded,
                 fmt::format("{} of at most {} builds wait already; to let more wait, raise "
                             "queue_limit in the daemon's configuration",
                             waiting_.size(), bounds_.total),
                 kRetryQueued};
  }
  return Ok{};
}

void WaitingItems::AddTo(Account account, uint64_t item, BuildPriority priority,
                         const CompileMemory::Kind& kind) {
  const auto [line, is_new] = lines_.try_emplace(account);
  Line& own = line->second;
  if (is_new) {
    rotation_.push_back(account);
    own.last_turn = turns_;
    for (const uint64_t group : account.way()) {
      ++groups_.try_emplace(group, Group{0, turns_}).first->second.lines;
    }
  }
  Waiting& waiting = waiting_[item];
  if (!waiting.reserves() && own.items.empty()) own.since = Clock::now();
  const Place place = PlaceOf(++own.last_number, priority);
  waiting.lines.emplace(account, place);
  if (waiting.reserves()) {
    own.reservations.emplace(place, Entry{item, kind});
  } else {
    AddTo(own, place, {item, kind});
  }
  if (account.IsContainers()) ++waiting_in_containers_;
}

WaitingItems::Place WaitingItems::PlaceOf(uint64_t number, BuildPriority priority) const {
  return {number + RankOf(priority) * bounds_.per_uid, number, priority};
}

void WaitingItems::AddTo(Line& line, const Place& place, const Entry& entry) {
  line.items.emplace(place, entry);
  if (place.priority == BuildPriority::kWarmUp) ++line.warm_ups;
}

WaitingItems::Entry WaitingItems::RemoveFrom(Line& line, const Place& place) {
  if (place.priority == BuildPriority::kWarmUp) --line.warm_ups;
  return line.items.extract(place).mapped();
}

void WaitingItems::Raise(Waiting& waiting, Account account, BuildPriority priority) {
  Place& place = waiting.lines.at(account);
  if (RankOf(place.priority) <= RankOf(priority)) return;
  Line& line = lines_.at(account);
  const Entry entry = RemoveFrom(line, place);
  place = PlaceOf(place.number, priority);
  AddTo(line, place, entry);
}

std::optional<Reserved> WaitingItems::Remove(uint64_t item) {
  const auto found = waiting_.find(item);
  if (found == waiting_.end()) return std::nullopt;
  return Remove(found);
}

Reserved WaitingItems::Remove(Found item) {
  Waiting& waiting = item->second;
  for (const auto& [account, place] : waiting.lines) {
    const auto line = lines_.find(account);
    if (waiting.reserves()) {
      line->second.reservations.erase(place);
    } else {
      RemoveFrom(line->second, place);
    }
    if (account.IsContainers()) --waiting_in_containers_;
    if (line->second.size() > 0) continue;
    for (const uint64_t group : line->first.way()) {
      if (--groups_.at(group).lines == 0) groups_.erase(group);
    }
    lines_.erase(line);
    rotation_.remove(account);
  }
  if (waiting.passed_by) {
    lacking_.remove(item->first);
    memory_->EndWait();
  }
  if (waiting.reserves()) --reserving_;
  Reserved reserved = std::move(waiting.reserved);
  waiting_.erase(item);
  return reserved;
}

std::vector<Reserved> WaitingItems::RemoveReservations() {
  std::vector<Reserved> removed;
  for (auto item = waiting_.begin(); item != waiting_.end();) {
    const auto next = std::next(item);
    if (item->second.reserves()) removed.push_back(Remove(item));
    item = next;
  }
  return removed;
}

Reserved WaitingItems::Take(uint64_t item, Account account, bool passes) {
  rotation_.splice(rotation_.end(), rotation_, std::ranges::find(rotation_, account));
  lines_.at(account).last_turn = ++turns_;
  for (const uint64_t group : account.way()) groups_.at(group).last_turn = turns_;
  containers_had_last_turn_ = account.IsContainers();
  Reserved reserved = Remove(waiting_.find(item));
  if (passes) {
    for (const uint64_t lacking : lacking_) {
      Waiting& passed = waiting_.at(lacking);
      if (IsFirstLacking(passed)) ++*passed.passed_by;
    }
  }
  return reserved;
}

void WaitingItems::MoveBack(Account account) {
  const auto place = std::ranges::find(rotation_, account);
  if (place != rotation_.end()) rotation_.splice(rotation_.end(), rotation_, place);
}

bool WaitingItems::BeginLacking(uint64_t item) {
  std::optional<size_t>& passed_by = waiting_.at(item).passed_by;
  if (passed_by) return false;
  passed_by = 0;
  lacking_.push_back(item);
  memory_->BeginWait();
  return true;
}

bool WaitingItems::OthersLack(Account account) const {
  return std::ranges::any_of(
      lacking_, [&](uint64_t item) { return !waiting_.at(item).lines.contains(account); });
}

std::vector<std::pair<Account, WaitingItems::Entry>> WaitingItems::EntriesOf(uint64_t item) const {
  std::vector<std::pair<Account, Entry>> entries;
  const Waiting& waiting = waiting_.at(item);
  for (const auto& [account, place] : waiting.lines) {
    entries.emplace_back(account, lines_.at(account).Of(waiting.reserves()).at(place));
  }
  return entries;
}

WaitingItems::Accounts WaitingItems::Ready(const Predicate& may_start) const {
  Accounts all;
  std::ranges::copy_if(rotation_, std::back_inserter(all), [&](Account account) {
    return !lines_.at(account).items.empty() && may_start(account);
  });
  Accounts ready;
  std::ranges::copy_if(all, std::back_inserter(ready), [this](Account account) {
    const Line& line = lines_.at(account);
    return line.is_urgent() || turns_ - line.last_turn >= bounds_.turns_of_others;
  });
  return ready.empty() ? all : ready;
}

WaitingItems::Accounts WaitingItems::Reserving() const {
  Accounts reserving;
  if (reserving_ == 0) return reserving;
  std::ranges::copy_if(rotation_, std::back_inserter(reserving), [this](Account account) {
    return !lines_.at(account).reservations.empty();
  });
  return reserving;
}

Account WaitingItems::FirstOf(const Accounts& ready, const Predicate& runs) const {
  const auto user = std::ranges::find_if_not(ready, &Account::IsContainers);
  if (user != ready.end() && (user == ready.begin() || containers_had_last_turn_)) {
    return *std::ranges::min_element(user, ready.end(), {}, [&](Account account) {
      return std::pair(account.IsContainers(), !lacking_.empty() && runs(account));
    });
  }
  Accounts containers;
  std::ranges::copy_if(ready, std::back_inserter(containers), &Account::IsContainers);
  return *std::ranges::min_element(containers, {},
                                   [this](Account account) { return LastTurns(account); });
}

std::vector<uint64_t> WaitingItems::LastTurns(Account account) const {
  std::vector<uint64_t> turns;
  for (const uint64_t group : account.way()) turns.push_back(groups_.at(group).last_turn);
  turns.push_back(lines_.at(account).last_turn);
  return turns;
}

bool WaitingItems::IsFirstLacking(const Waiting& waiting) const {
  return std::ranges::any_of(waiting.lines, [&](const auto& place_in) {
    const auto& [account, place] = place_in;
    const std::map<Place, Entry>& items = lines_.at(account).Of(waiting.reserves());
    return std::none_of(items.begin(), items.find(place), [this](const auto& before) {
      return waiting_.at(before.second.item).passed_by.has_value();
    });
  });
}

std::optional<uint64_t> WaitingItems::Overdue(const Accounts& ready,
                                              const Accounts& reserving) const {
  for (const uint64_t item : lacking_) {
    const Waiting& waiting = waiting_.at(item);
    const Accounts& may_start = waiting.reserves() ? reserving : ready;
    const bool containers_yield = containers_had_last_turn_ && AnyIsUser(may_start);
    for (const auto& [account, place] : waiting.lines) {
      const uint64_t most =
          place.priority == BuildPriority::kWarmUp ? bounds_.turns_of_others : kMaxPassedBy;
      if (*waiting.passed_by < most) continue;
      if (containers_yield && account.IsContainers()) continue;
      if (std::ranges::count(may_start, account) > 0) return item;
    }
  }
  return std::nullopt;
}

}  // namespace cccl_cache::daemon
