// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/fair_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

// The time after which a refused caller may retry. It is only a hint: under common loads a slot
// becomes free within this time.
constexpr std::chrono::milliseconds kRetryQueued{500};

/// Items with this number or a higher one are reservations.
constexpr uint64_t kReservations = uint64_t{1} << 63;

/// Returns whether any of the accounts is a user of the node.
bool HasUser(const std::vector<Account>& accounts) {
  return !std::ranges::all_of(accounts, &Account::IsContainers);
}

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

FairQueue::FairQueue(const Bounds& bounds, Run run, CompileMemory* memory,
                     std::function<void()> make_room)
    : bounds_(bounds), run_(std::move(run)), memory_(memory), make_room_(std::move(make_room)) {
  // One thread for each item that may run at once: items with a slot, and parked items, which have
  // none. One more grants reservations meanwhile.
  const size_t most = bounds_.slots + bounds_.relief_slots + bounds_.parked + 1;
  threads_.reserve(most + 1);
  for (size_t i = 0; i < most; ++i) {
    threads_.emplace_back([this](std::stop_token stop) { Serve(stop); });
  }
  threads_.emplace_back([this](std::stop_token stop) { LookOut(stop); });
}

void FairQueue::Close() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

Status FairQueue::Add(uint64_t item, Account account, BuildPriority priority,
                      const CompileMemory::Kind& kind) {
  {
    const MutexLock lock(mutex_);
    const bool known = waiting_.contains(item);
    if (known && waiting_[item].lines.contains(account)) {
      Raise(item, account, priority);
      return Ok{};
    }
    const Status room = CheckRoom(account, !known);
    // The item keeps its place in the other queues.
    if (!room) return known ? Status(Ok{}) : room;
    AddTo(account, item, priority, kind);
    ++changes_;
  }
  added_.NotifyOne();
  changed_.NotifyOne();
  return Ok{};
}

Status FairQueue::CheckRoom(Account account, bool is_new) const {
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

void FairQueue::AddTo(Account account, uint64_t item, BuildPriority priority,
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

Result<uint64_t> FairQueue::Reserve(const CompileMemory::Kind& kind, Reserved reserved) {
  uint64_t item = 0;
  {
    const MutexLock lock(mutex_);
    if (!grants_) return Error{ErrorCode::kUnavailable, "cccl-cached is stopping"};
    if (const Status room = CheckRoom(kind.account, true); !room) return room.error();
    item = kReservations + ++last_reservation_;
    waiting_[item].reserved = std::move(reserved);
    AddTo(kind.account, item, BuildPriority::kNormal, kind);
    ++reserving_;
    ++changes_;
  }
  added_.NotifyOne();
  changed_.NotifyOne();
  return item;
}

void FairQueue::NotePeak(const CompileMemory::Kind& kind, uint64_t peak_bytes) {
  if (memory_ == nullptr) return;
  memory_->NotePeak(kind, peak_bytes);
  MemoryFreed();  // a smaller estimate may fit now
}

void FairQueue::StopReserving() {
  std::vector<Reserved> told;
  {
    const MutexLock lock(mutex_);
    grants_ = false;
    for (auto item = waiting_.lower_bound(kReservations); item != waiting_.end();) {
      const auto next = std::next(item);
      told.push_back(item->second.TakeReserved());
      RemoveFromLines(item);
      item = next;
    }
  }
  for (const Reserved& tell : told) tell(nullptr);
}

FairQueue::Place FairQueue::PlaceOf(uint64_t number, BuildPriority priority) const {
  return {number + RankOf(priority) * bounds_.per_uid, number, priority};
}

void FairQueue::AddTo(Line& line, const Place& place, const Entry& entry) {
  line.items.emplace(place, entry);
  if (place.priority == BuildPriority::kWarmUp) ++line.warm_ups;
}

FairQueue::Entry FairQueue::RemoveFrom(Line& line, const Place& place) {
  if (place.priority == BuildPriority::kWarmUp) --line.warm_ups;
  return line.items.extract(place).mapped();
}

void FairQueue::Raise(uint64_t item, Account account, BuildPriority priority) {
  Place& place = waiting_[item].lines.at(account);
  if (RankOf(place.priority) <= RankOf(priority)) return;
  Line& line = lines_.at(account);
  const Entry entry = RemoveFrom(line, place);
  place = PlaceOf(place.number, priority);
  AddTo(line, place, entry);
  ++changes_;
  changed_.NotifyOne();
}

void FairQueue::RemoveFromLines(std::map<uint64_t, Waiting>::iterator item) {
  for (const auto& [account, place] : item->second.lines) {
    const auto line = lines_.find(account);
    if (item->second.reserves()) {
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
  if (item->second.passed_by) {
    lacking_.remove(item->first);
    memory_->EndWait();
  }
  if (item->second.reserves()) --reserving_;
  waiting_.erase(item);
}

bool FairQueue::Remove(uint64_t item) {
  Reserved dropped;  // declared before the lock, so destroyed after the unlock
  const MutexLock lock(mutex_);
  const auto found = waiting_.find(item);
  if (found == waiting_.end()) return false;
  if (found->second.reserves()) dropped = found->second.TakeReserved();
  RemoveFromLines(found);
  added_.NotifyOne();  // for an item that let this item go first
  return true;
}

size_t FairQueue::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size() - reserving_;
}

size_t FairQueue::running() const {
  const MutexLock lock(mutex_);
  return running_.size();
}

void FairQueue::Describe(std::optional<Account> only, BuildActivity* activity) const {
  const MutexLock lock(mutex_);
  activity->slots = bounds_.slots;
  activity->running = running_.size();
  activity->queued = waiting_.size() - reserving_;
  std::map<Account, AccountActivity> accounts;
  const auto of = [&accounts](Account account) -> AccountActivity& {
    return accounts.emplace(account, AccountActivity{account}).first->second;
  };
  for (const auto& [account, line] : lines_) {
    if (!line.items.empty()) of(account).queued = line.items.size();
  }
  for (const auto& [account, count] : running_of_) of(account).running = count;
  for (const auto& [account, counts] : accounts) {
    if (!only || *only == account) activity->accounts.push_back(counts);
  }
}

std::vector<Account> FairQueue::Ready() const {
  const auto may_start = [this](Account account) REQUIRES(mutex_) {
    return !lines_.at(account).items.empty() && MayTakeFreeSlot(account);
  };
  std::vector<Account> all;
  std::ranges::copy_if(rotation_, std::back_inserter(all), may_start);
  std::vector<Account> ready;
  std::ranges::copy_if(all, std::back_inserter(ready), [this](Account account) REQUIRES(mutex_) {
    const Line& line = lines_.at(account);
    return line.is_urgent() || turns_ - line.last_turn >= bounds_.turns_of_others;
  });
  if (ready.empty()) ready = all;
  if (busy_slots_.in_containers >= std::max<size_t>(bounds_.slots / 2, 1) && HasUser(ready)) {
    std::erase_if(ready, std::mem_fn(&Account::IsContainers));
  }
  return ready;
}

FairQueue::Accounts FairQueue::Reserving() const {
  Accounts reserving;
  if (reserving_ == 0) return reserving;
  std::ranges::copy_if(rotation_, std::back_inserter(reserving),
                       [this](Account account)
                           REQUIRES(mutex_) { return !lines_.at(account).reservations.empty(); });
  return reserving;
}

Account FairQueue::FirstOf(const std::vector<Account>& ready) const {
  const auto user = std::ranges::find_if_not(ready, &Account::IsContainers);
  if (user != ready.end() && (user == ready.begin() || containers_had_last_turn_)) {
    return *std::ranges::min_element(
        user, ready.end(), {}, [this](Account account) REQUIRES(mutex_) {
          const bool runs = running_of_.contains(account) || reserved_of_.contains(account);
          return std::pair(account.IsContainers(), !lacking_.empty() && runs);
        });
  }
  std::vector<Account> containers;
  std::ranges::copy_if(ready, std::back_inserter(containers), &Account::IsContainers);
  return *std::ranges::min_element(
      containers, {}, [this](Account account) REQUIRES(mutex_) { return LastTurns(account); });
}

std::vector<uint64_t> FairQueue::LastTurns(Account account) const {
  std::vector<uint64_t> turns;
  for (const uint64_t group : account.way()) turns.push_back(groups_.at(group).last_turn);
  turns.push_back(lines_.at(account).last_turn);
  return turns;
}

void FairQueue::Take(uint64_t item, Account account) {
  rotation_.splice(rotation_.end(), rotation_, std::ranges::find(rotation_, account));
  lines_.at(account).last_turn = ++turns_;
  for (const uint64_t group : account.way()) groups_.at(group).last_turn = turns_;
  containers_had_last_turn_ = account.IsContainers();
  RemoveFromLines(waiting_.find(item));
}

void FairQueue::Take(const Turn& turn) {
  Take(turn.item, turn.account);
  if (turn.memory != nullptr && turn.memory->is_shared()) {
    for (const uint64_t item : lacking_) {
      Waiting& passed = waiting_.at(item);
      if (IsFirstLacking(passed)) ++*passed.passed_by;
    }
  }
}

void FairQueue::MoveBack(Account account) {
  const auto place = std::ranges::find(rotation_, account);
  if (place != rotation_.end()) rotation_.splice(rotation_.end(), rotation_, place);
}

void FairQueue::Grant(Turn turn) {
  Reserved reserved = waiting_.at(turn.item).TakeReserved();
  Take(turn);
  auto granted =
      std::make_unique<Reservation>(*this, turn.item, turn.account, std::move(turn.memory));
  reservations_.emplace(turn.item, granted.get());
  ++reserved_of_[turn.account];
  ++changes_;
  changed_.NotifyOne();
  mutex_.unlock();
  reserved(std::move(granted));
  reserved = nullptr;
  mutex_.lock();
}

void FairQueue::EndReservation(Reservation* reservation) {
  const MutexLock lock(mutex_);
  reservation->memory_ = nullptr;
  reservations_.erase(reservation->number_);
  const auto held = reserved_of_.find(reservation->account_);
  if (--held->second == 0) {
    reserved_of_.erase(held);
    MoveBack(reservation->account_);
  }
  if (!lacking_.empty()) added_.NotifyOne();
}

FairQueue::Clock::time_point FairQueue::EndLongReservations() {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + std::chrono::hours(1);
  if (lacking_.empty()) return next;
  for (const auto& [number, reservation] : reservations_) {
    const bool others_lack = std::ranges::any_of(
        lacking_, [&, account = reservation->account_](uint64_t item)
                      REQUIRES(mutex_) { return !waiting_.at(item).lines.contains(account); });
    if (!others_lack || reservation->memory_ == nullptr) continue;
    const auto due = reservation->since_ + bounds_.reserved_for;
    if (due > now) {
      next = std::min(next, due);
    } else {
      reservation->memory_ = nullptr;
      added_.NotifyOne();
    }
  }
  return next;
}

void FairQueue::RunNow(Turn turn) {
  const Account account = turn.account;
  Take(turn);
  const auto running =
      running_.insert(running_.end(), Running{turn.item, account, *turn.busy, turn.memory.get()});
  running->waits = std::make_shared<Waits>(*this, *running);
  turn.busy->Add(account, 1);
  if (reserving_ > 0 || (!waiting_.empty() && busy_slots_.in_all < bounds_.slots)) {
    added_.NotifyOne();
  }
  ++running_of_[account];
  ++changes_;
  changed_.NotifyOne();
  const std::shared_ptr<Waits> waits = running->waits;
  mutex_.unlock();
  run_(turn.item);
  waits->Close();
  mutex_.lock();
  turn.memory = nullptr;
  turn.busy->Remove(account, 1);
  running_.erase(running);
  if (--running_of_[account] == 0) {
    running_of_.erase(account);
    MoveBack(account);
  }
  ++changes_;
  changed_.NotifyOne();
}

bool FairQueue::MayPark(Account account) const {
  const auto found = parked_of_.find(account);
  const size_t mine = found == parked_of_.end() ? 0 : found->second;
  const Allowance allowance{bounds_.parked_per_account, bounds_.parked};
  return mine < allowance.Most(account, mine, parked_);
}

bool FairQueue::MayTakeFreeSlot(Account account) const {
  return busy_slots_.in_all + 1 < bounds_.slots || !parked_of_.contains(account) ||
         MayPark(account);
}

void FairQueue::SetParked(Running& running, bool parked) {
  const Account account = running.account;
  running.parked = parked;
  if (parked) {
    running.busy.Remove(account, 1);
    parked_.Add(account, 1);
    ++parked_of_[account];
  } else {
    running.busy.Add(account, 1);
    parked_.Remove(account, 1);
    if (--parked_of_[account] == 0) parked_of_.erase(account);
  }
  ++changes_;
  changed_.NotifyOne();
  added_.NotifyOne();
}

FairQueue::Clock::time_point FairQueue::ParkWaiting() {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + std::chrono::hours(1);
  for (Running& running : running_) {
    if (running.parked) continue;
    const auto due = running.waits_since.value_or(now) + bounds_.park_after - running.waited;
    if (due > now) {
      next = std::min(next, due);
    } else if (running.waits_since && MayPark(running.account)) {
      SetParked(running, true);
    } else {  // the item may wait again, or a place for a parked item may become free
      next = std::min(next, now + bounds_.park_after);
    }
  }
  return next;
}

void FairQueue::BeginWait(Running& running) {
  const MutexLock lock(mutex_);
  running.waits_since = Clock::now();
  if (running.waited >= bounds_.park_after && MayPark(running.account)) SetParked(running, true);
}

void FairQueue::EndWait(Running& running) {
  const MutexLock lock(mutex_);
  running.waited += Clock::now() - *running.waits_since;
  running.waits_since.reset();
  if (running.parked) SetParked(running, false);
}

void FairQueue::Waits::Begin(const void* who) {
  const MutexLock lock(mutex_);
  if (running_ == nullptr) return;
  if (who_ != nullptr) queue_.EndWait(*running_);
  who_ = who;
  queue_.BeginWait(*running_);
}

void FairQueue::Waits::End(const void* who) {
  const MutexLock lock(mutex_);
  if (running_ == nullptr || who_ != who) return;
  who_ = nullptr;
  queue_.EndWait(*running_);
}

void FairQueue::Waits::Close() {
  const MutexLock lock(mutex_);
  if (who_ != nullptr) queue_.EndWait(*running_);
  running_ = nullptr;
}

std::shared_ptr<FairQueue::Waits> FairQueue::WaitsOf(uint64_t item) const {
  const MutexLock lock(mutex_);
  return std::ranges::find(running_, item, &Running::item)->waits;
}

CompileMemory::Running* FairQueue::MemoryOf(uint64_t item) const {
  const MutexLock lock(mutex_);
  return std::ranges::find(running_, item, &Running::item)->memory;
}

void FairQueue::MemoryFreed() {
  const MutexLock lock(mutex_);
  if (!lacking_.empty()) added_.NotifyOne();
}

std::optional<FairQueue::Turn> FairQueue::Try(const Entry& entry, Account account, bool may_share,
                                              HeldInAll* busy) {
  if (memory_ == nullptr) return Turn{entry.item, account, busy, nullptr};
  using Use = CompileMemory::Use;
  auto memory =
      memory_->TryStart(entry.kind, may_share, busy == nullptr ? Use::kReservation : Use::kCompile);
  if (memory != nullptr) return Turn{entry.item, account, busy, std::move(memory)};
  std::optional<size_t>& passed_by = waiting_.at(entry.item).passed_by;
  if (passed_by) return std::nullopt;
  passed_by = 0;
  lacking_.push_back(entry.item);
  memory_->BeginWait();
  needs_room_ = true;
  ++changes_;
  changed_.NotifyOne();
  return std::nullopt;
}

std::optional<FairQueue::Turn> FairQueue::Try(Account account, bool may_share, HeldInAll* busy) {
  size_t passed = 0;
  for (const auto& [place, entry] : lines_.at(account).Of(busy == nullptr)) {
    if (auto turn = Try(entry, account, may_share, busy)) return turn;
    if (++passed == kMaxPassedBy) break;
  }
  return std::nullopt;
}

bool FairQueue::IsFirstLacking(const Waiting& waiting) const {
  return std::ranges::any_of(waiting.lines, [&](const auto& place_in) REQUIRES(mutex_) {
    const auto& [account, place] = place_in;
    const std::map<Place, Entry>& items = lines_.at(account).Of(waiting.reserves());
    return std::none_of(items.begin(), items.find(place),
                        [this](const auto& before) REQUIRES(mutex_) {
                          return waiting_.at(before.second.item).passed_by.has_value();
                        });
  });
}

std::optional<uint64_t> FairQueue::Overdue(const Accounts& ready, const Accounts& reserving) const {
  for (const uint64_t item : lacking_) {
    const Waiting& waiting = waiting_.at(item);
    const Accounts& may_start = waiting.reserves() ? reserving : ready;
    const bool containers_yield = containers_had_last_turn_ && HasUser(may_start);
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

std::optional<FairQueue::Turn> FairQueue::TryOverdue(uint64_t item, const Accounts& ready,
                                                     HeldInAll* busy) {
  const Waiting& waiting = waiting_.at(item);
  for (const auto& [account, place] : waiting.lines) {
    if (std::ranges::count(ready, account) == 0) continue;
    const Entry& entry = lines_.at(account).Of(waiting.reserves()).at(place);
    if (auto turn = Try(entry, account, true, busy)) return turn;
  }
  return std::nullopt;
}

std::optional<FairQueue::Turn> FairQueue::Try(Accounts ready, bool may_share, HeldInAll* busy) {
  while (!ready.empty()) {
    const Account next = FirstOf(ready);
    if (auto turn = Try(next, may_share, busy)) return turn;
    std::erase(ready, next);
  }
  return std::nullopt;
}

std::optional<FairQueue::Turn> FairQueue::NextTurn() {
  Accounts ready = Ready();
  const Accounts reserving = Reserving();
  const std::optional<uint64_t> overdue = Overdue(ready, reserving);
  HeldInAll* busy = &busy_slots_;
  if (busy_slots_.in_all >= bounds_.slots) {
    busy = &busy_relief_slots_;
    ready = Relieved().accounts;
  }
  if (overdue) {
    auto turn = waiting_.at(*overdue).reserves() ? TryOverdue(*overdue, reserving, nullptr)
                                                 : TryOverdue(*overdue, ready, busy);
    if (turn) return turn;
  }
  if (auto turn = Try(ready, !overdue, busy)) return turn;
  return Try(reserving, !overdue, nullptr);
}

void FairQueue::Serve(std::stop_token stop) {
  NameThread("flight");
  const MutexLock lock(mutex_);
  std::optional<Turn> turn;
  while (added_.Wait(mutex_, stop, [this, &turn, &stop]() REQUIRES(mutex_) {
    if (!stop.stop_requested()) turn = NextTurn();
    return turn.has_value();
  })) {
    Turn now = *std::exchange(turn, std::nullopt);
    now.busy == nullptr ? Grant(std::move(now)) : RunNow(std::move(now));
  }
}

void FairQueue::LookOut(std::stop_token stop) {
  NameThread("queue");
  MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    Clock::time_point next = std::min(ParkWaiting(), EndLongReservations());
    const Relief relief = Relieved();
    next = std::min(next, relief.next);
    if (!relief.accounts.empty()) added_.NotifyOne();
    if (std::exchange(needs_room_, false) && make_room_) {
      lock.Unlock();
      make_room_();
      lock.Lock();
      continue;
    }
    if (Running* const item = MustGiveWay(relief.lacking, &next)) {
      item->gives_way = true;
      const std::shared_ptr<Waits> waits = item->waits;
      lock.Unlock();
      waits->gives_way_.request_stop();
      lock.Lock();
      continue;
    }
    changed_.WaitUntil(mutex_, stop, next,
                       [this, seen = changes_]() REQUIRES(mutex_) { return changes_ != seen; });
  }
}

FairQueue::Relief FairQueue::Relieved() const {
  const Clock::time_point now = Clock::now();
  Relief relief{.next = now + std::chrono::hours(1)};
  if (busy_slots_.in_all < bounds_.slots) return relief;
  const Allowance allowance{1, bounds_.relief_slots};
  for (const Account& account : rotation_) {
    const Line& line = lines_.at(account);
    if (running_of_.contains(account) || !line.is_urgent()) continue;
    const Clock::time_point due = line.since + bounds_.relief_after;
    if (due > now) {
      relief.next = std::min(relief.next, due);
    } else if (allowance.Most(account, 0, busy_relief_slots_) == 0) {
      relief.lacking.Add(account, 1);
    } else {
      relief.accounts.push_back(account);
    }
  }
  return relief;
}

FairQueue::Running* FairQueue::MustGiveWay(const HeldInAll& lacking, Clock::time_point* next) {
  const auto leaving = static_cast<uint64_t>(std::ranges::count_if(running_, &Running::gives_way));
  if (lacking.in_all <= leaving) return nullptr;
  const bool for_containers = lacking.in_all - lacking.in_containers <= leaving;
  Running* longest = nullptr;
  Clock::time_point due = *next;
  for (Running& running : running_) {
    if (running.parked || running.gives_way || !running.waits_since) continue;
    if (for_containers && !running.account.IsContainers()) continue;
    const auto its_due = *running.waits_since + bounds_.give_way_after - running.waited;
    if (its_due >= due) continue;
    longest = &running;
    due = its_due;
  }
  if (due <= Clock::now()) return longest;
  *next = due;
  return nullptr;
}

}  // namespace cccl_cache::daemon
