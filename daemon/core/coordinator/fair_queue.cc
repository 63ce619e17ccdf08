// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/fair_queue.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

/// Items with this number or a higher one are reservations.
constexpr uint64_t kReservations = uint64_t{1} << 63;

}  // namespace

FairQueue::FairQueue(const Bounds& bounds, Run run, CompileMemory* memory,
                     std::function<void()> make_room)
    : bounds_(bounds),
      run_(std::move(run)),
      memory_(memory),
      make_room_(std::move(make_room)),
      waiting_({bounds_.per_uid, bounds_.total, bounds_.turns_of_others}, memory) {
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
    const Status added = waiting_.Add(item, account, priority, kind);
    if (!added) return added;
    ++changes_;
  }
  added_.NotifyOne();
  changed_.NotifyOne();
  return Ok{};
}

Result<uint64_t> FairQueue::Reserve(const CompileMemory::Kind& kind, Reserved reserved) {
  uint64_t item = 0;
  {
    const MutexLock lock(mutex_);
    if (!grants_) return Error{ErrorCode::kUnavailable, "cccl-cached is stopping"};
    item = kReservations + ++last_reservation_;
    if (const Status added = waiting_.AddReservation(item, kind, std::move(reserved)); !added) {
      return added.error();
    }
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
    told = waiting_.RemoveReservations();
  }
  for (const Reserved& tell : told) tell(nullptr);
}

bool FairQueue::Remove(uint64_t item) {
  std::optional<Reserved> removed;  // declared before the lock, so destroyed after the unlock
  const MutexLock lock(mutex_);
  removed = waiting_.Remove(item);
  if (!removed) return false;
  added_.NotifyOne();  // for an item that let this item go first
  return true;
}

size_t FairQueue::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.items();
}

size_t FairQueue::running() const {
  const MutexLock lock(mutex_);
  return running_.size();
}

void FairQueue::Describe(std::optional<Account> only, BuildActivity* activity) const {
  const MutexLock lock(mutex_);
  activity->slots = bounds_.slots;
  activity->running = running_.size();
  activity->queued = waiting_.items();
  std::map<Account, AccountActivity> accounts;
  const auto of = [&accounts](Account account) -> AccountActivity& {
    return accounts.emplace(account, AccountActivity{account}).first->second;
  };
  for (const auto& [account, line] : waiting_.lines()) {
    if (!line.items.empty()) of(account).queued = line.items.size();
  }
  for (const auto& [account, count] : running_of_) of(account).running = count;
  for (const auto& [account, counts] : accounts) {
    if (!only || *only == account) activity->accounts.push_back(counts);
  }
}

FairQueue::Accounts FairQueue::Ready() const {
  Accounts ready =
      waiting_.Ready([this](Account account) REQUIRES(mutex_) { return MayTakeFreeSlot(account); });
  if (busy_slots_.in_containers >= std::max<size_t>(bounds_.slots / 2, 1) && AnyIsUser(ready)) {
    std::erase_if(ready, std::mem_fn(&Account::IsContainers));
  }
  return ready;
}

Reserved FairQueue::Take(const Turn& turn) {
  const bool passes = turn.memory != nullptr && turn.memory->is_shared();
  return waiting_.Take(turn.item, turn.account, passes);
}

void FairQueue::Grant(Turn turn) {
  Reserved reserved = Take(turn);
  auto granted = std::make_unique<Reservation>(
      turn.item, turn.account, std::move(turn.memory),
      [this](Reservation* reservation) { EndReservation(reservation); });
  held_.Add(granted.get());
  ++changes_;
  changed_.NotifyOne();
  mutex_.unlock();
  reserved(std::move(granted));
  reserved = nullptr;
  mutex_.lock();
}

void FairQueue::EndReservation(Reservation* reservation) {
  const MutexLock lock(mutex_);
  if (held_.End(reservation)) waiting_.MoveBack(reservation->account());
  if (waiting_.lacks_memory()) added_.NotifyOne();
}

FairQueue::Clock::time_point FairQueue::EndLongReservations() {
  Clock::time_point next = Clock::now() + std::chrono::hours(1);
  if (!waiting_.lacks_memory()) return next;
  const auto others_lack = [this](Account account)
                               REQUIRES(mutex_) { return waiting_.OthersLack(account); };
  size_t freed = held_.FreeLongHeld(bounds_.reserved_for, others_lack, &next);
  for (; freed > 0; --freed) added_.NotifyOne();
  return next;
}

void FairQueue::RunNow(Turn turn) {
  const Account account = turn.account;
  Take(turn);
  const auto running =
      running_.insert(running_.end(), Running{turn.item, account, *turn.busy, turn.memory.get()});
  running->waits = std::make_shared<Waits>(*this, *running);
  turn.busy->Add(account, 1);
  if (waiting_.reservations() > 0 || (waiting_.items() > 0 && busy_slots_.in_all < bounds_.slots)) {
    added_.NotifyOne();
  }
  ++running_of_[account];
  ++changes_;
  changed_.NotifyOne();
  const Slot slot{running->waits, running->memory};
  mutex_.unlock();
  run_(turn.item, slot);
  slot.waits->Close();
  mutex_.lock();
  turn.memory = nullptr;
  turn.busy->Remove(account, 1);
  running_.erase(running);
  if (--running_of_[account] == 0) {
    running_of_.erase(account);
    waiting_.MoveBack(account);
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

void FairQueue::MemoryFreed() {
  const MutexLock lock(mutex_);
  if (waiting_.lacks_memory()) added_.NotifyOne();
}

std::optional<FairQueue::Turn> FairQueue::Try(const Entry& entry, Account account, bool may_share,
                                              HeldInAll* busy) {
  if (memory_ == nullptr) return Turn{entry.item, account, busy, nullptr};
  using Use = CompileMemory::Use;
  auto memory =
      memory_->TryStart(entry.kind, may_share, busy == nullptr ? Use::kReservation : Use::kCompile);
  if (memory != nullptr) return Turn{entry.item, account, busy, std::move(memory)};
  if (!waiting_.BeginLacking(entry.item)) return std::nullopt;
  needs_room_ = true;
  ++changes_;
  changed_.NotifyOne();
  return std::nullopt;
}

std::optional<FairQueue::Turn> FairQueue::Try(Account account, bool may_share, HeldInAll* busy) {
  size_t passed = 0;
  for (const auto& [place, entry] : waiting_.lines().at(account).Of(busy == nullptr)) {
    if (auto turn = Try(entry, account, may_share, busy)) return turn;
    if (++passed == kMaxPassedBy) break;
  }
  return std::nullopt;
}

std::optional<FairQueue::Turn> FairQueue::TryOverdue(uint64_t item, const Accounts& ready,
                                                     HeldInAll* busy) {
  for (const auto& [account, entry] : waiting_.EntriesOf(item)) {
    if (std::ranges::count(ready, account) == 0) continue;
    if (auto turn = Try(entry, account, true, busy)) return turn;
  }
  return std::nullopt;
}

std::optional<FairQueue::Turn> FairQueue::Try(Accounts ready, bool may_share, HeldInAll* busy) {
  const auto runs = [this](Account account) REQUIRES(mutex_) {
    return running_of_.contains(account) || held_.HasOf(account);
  };
  while (!ready.empty()) {
    const Account next = waiting_.FirstOf(ready, runs);
    if (auto turn = Try(next, may_share, busy)) return turn;
    std::erase(ready, next);
  }
  return std::nullopt;
}

std::optional<FairQueue::Turn> FairQueue::NextTurn() {
  Accounts ready = Ready();
  const Accounts reserving = waiting_.Reserving();
  const std::optional<uint64_t> overdue = waiting_.Overdue(ready, reserving);
  HeldInAll* busy = &busy_slots_;
  if (busy_slots_.in_all >= bounds_.slots) {
    busy = &busy_relief_slots_;
    ready = Relieved().accounts;
  }
  if (overdue) {
    auto turn = waiting_.Reserves(*overdue) ? TryOverdue(*overdue, reserving, nullptr)
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
  for (const Account& account : waiting_.rotation()) {
    const WaitingItems::Line& line = waiting_.lines().at(account);
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
