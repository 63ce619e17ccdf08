// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/lease_table.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {

LeaseTable::WaiterId LeaseTable::NewSeat() {
  const MutexLock lock(mutex_);
  return ++last_id_;
}

void LeaseTable::Enter(WaiterId waiter, const Digest& key, const Wait& wait, Tell tell) {
  Told told;
  bool earlier = false;
  {
    const MutexLock lock(mutex_);
    if (stopped_) {
      told.emplace_back(std::move(tell), *stopped_);
    } else {
      const std::optional<Time> first =
          due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
      Place& place = places_[waiter];
      place.key = key;
      place.tell = std::move(tell);
      place.wait = wait;
      place.came = options_.now();
      const auto [entry, is_new] = lines_.try_emplace(key);
      Line& line = entry->second;
      if (wait.waits_only && is_new) {
        lines_.erase(entry);
        Dismiss(waiter, LeaseReleased{}, told);
      } else if (wait.waits_only) {
        line.watching.insert(waiter);
        SetDue(waiter, place, wait.until);
      } else if (is_new) {
        Grant(waiter, told);
      } else {
        line.waiting.insert(waiter);
        SetDue(waiter, place, wait.until);
        AskForRelease(line);
      }
      earlier = !due_.empty() && (!first || due_.begin()->first < *first);
    }
  }
  if (earlier && options_.sooner) options_.sooner();
  TellAll(told);
}

void LeaseTable::Grant(WaiterId waiter, Told& told) {
  Place& place = places_.at(waiter);
  Line& line = lines_.at(place.key);
  line.waiting.erase(waiter);
  line.holder = waiter;
  place.fence = next_fence_++;
  place.granted = options_.now();
  place.until = place.granted + options_.longest;
  Renew(waiter, place);
  told.emplace_back(place.tell, LeaseGrant{place.fence});
}

void LeaseTable::SetDue(WaiterId waiter, Place& place, std::optional<Time> due) {
  if (place.due) due_.erase({*place.due, waiter});
  place.due = due;
  if (due) due_.emplace(*due, waiter);
}

void LeaseTable::Renew(WaiterId waiter, Place& place) {
  const Time silent = options_.now() + options_.patience;
  SetDue(waiter, place, OthersWaitFor(place) ? std::min(silent, place.until) : silent);
}

void LeaseTable::AskForRelease(const Line& line) {
  Place& holder = places_.at(line.holder);
  if (holder.publishing || (holder.due && *holder.due <= holder.until)) return;
  SetDue(line.holder, holder, holder.until);
}

void LeaseTable::Release(WaiterId waiter, Told& told) {
  const auto place = places_.find(waiter);
  SetDue(waiter, place->second, std::nullopt);
  const auto line = lines_.find(place->second.key);
  places_.erase(place);
  if (line->second.holder != waiter) {
    line->second.waiting.erase(waiter);
    line->second.watching.erase(waiter);
  } else if (line->second.waiting.empty()) {
    for (const WaiterId watching : line->second.watching) Dismiss(watching, LeaseReleased{}, told);
    lines_.erase(line);
  } else {
    Grant(*line->second.waiting.begin(), told);
  }
}

void LeaseTable::Leave(WaiterId waiter) {
  Told told;
  {
    const MutexLock lock(mutex_);
    const auto place = places_.find(waiter);
    if (place == places_.end() || place->second.publishing) return;
    Release(waiter, told);
  }
  TellAll(told);
}

void LeaseTable::Dismiss(WaiterId waiter, LeaseNews news, Told& told) {
  const auto place = places_.find(waiter);
  SetDue(waiter, place->second, std::nullopt);
  told.emplace_back(std::move(place->second.tell), std::move(news));
  places_.erase(place);
}

void LeaseTable::Fail(WaiterId waiter) {
  Told told;
  {
    const MutexLock lock(mutex_);
    const Place* place = Holder(waiter);
    if (place == nullptr || place->publishing) return;
    std::set<WaiterId>& waiting = lines_.at(place->key).waiting;
    for (auto next = waiting.begin(); next != waiting.end();) {
      const bool released = places_.at(*next).wait.accepts_release;
      if (released) Dismiss(*next, LeaseReleased{}, told);
      next = released ? waiting.erase(next) : std::next(next);
    }
    Release(waiter, told);
  }
  TellAll(told);
}

LeaseTable::Place* LeaseTable::Holder(WaiterId waiter) {
  const auto place = places_.find(waiter);
  return place == places_.end() || place->second.fence == 0 ? nullptr : &place->second;
}

bool LeaseTable::Beat(WaiterId waiter) {
  bool earlier = false;
  {
    const MutexLock lock(mutex_);
    Place* place = Holder(waiter);
    if (place == nullptr) return false;
    // The holder can't lose the lease during its publication, so there is nothing to renew.
    if (place->publishing) return true;
    const std::optional<Time> before = place->due;
    // The holder of a postponed lease begins its work now, so its full time begins now.
    if (std::exchange(place->postponed, false)) {
      place->granted = options_.now();
      place->until = place->granted + options_.longest;
    }
    Renew(waiter, *place);
    earlier = !before || *place->due < *before;
  }
  if (earlier && options_.sooner) options_.sooner();
  return true;
}

void LeaseTable::SuspendTimeout(WaiterId waiter) {
  const MutexLock lock(mutex_);
  Place* place = Holder(waiter);
  if (place == nullptr || place->publishing) return;
  SetDue(waiter, *place, OthersWaitFor(*place) ? std::optional(place->until) : std::nullopt);
}

void LeaseTable::Postpone(WaiterId waiter) {
  bool earlier = false;
  {
    const MutexLock lock(mutex_);
    Place* place = Holder(waiter);
    if (place == nullptr || place->publishing) return;
    place->postponed = true;
    std::optional<Time> due = place->wait.until;
    if (OthersWaitFor(*place)) due = due ? std::min(*due, place->until) : place->until;
    earlier = due && (!place->due || *due < *place->due);
    SetDue(waiter, *place, due);
  }
  if (earlier && options_.sooner) options_.sooner();
}

std::optional<std::chrono::microseconds> LeaseTable::StartPublishing(WaiterId waiter,
                                                                     uint64_t fence) {
  const MutexLock lock(mutex_);
  Place* place = Holder(waiter);
  if (place == nullptr || place->fence != fence) return std::nullopt;
  SetDue(waiter, *place, std::nullopt);
  place->publishing = true;
  return std::chrono::duration_cast<std::chrono::microseconds>(options_.now() - place->granted);
}

void LeaseTable::Publish(WaiterId waiter, const DepositFound& found) {
  Told told;
  {
    const MutexLock lock(mutex_);
    const auto place = places_.find(waiter);
    // Stop was called meanwhile, and has answered all callers.
    if (place == places_.end()) return;
    assert(place->second.publishing);
    const auto line = lines_.find(place->second.key);
    for (const WaiterId waiting : line->second.waiting) Dismiss(waiting, found, told);
    for (const WaiterId watching : line->second.watching) Dismiss(watching, found, told);
    lines_.erase(line);
    places_.erase(place);
  }
  TellAll(told);
}

std::optional<LeaseTable::Time> LeaseTable::Pass() {
  Told told;
  std::optional<Time> next;
  {
    const MutexLock lock(mutex_);
    const Time now = options_.now();
    while (!due_.empty() && due_.begin()->first <= now) {
      const WaiterId waiter = due_.begin()->second;
      const Place& place = places_.at(waiter);
      if (place.postponed) {
        told.emplace_back(place.tell,
                          Error{ErrorCode::kTimedOut,
                                "the caller waited as long as it said it would: another node makes "
                                "the deposit, or this user holds as many leases as it may"});
      } else if (place.fence == 0) {
        told.emplace_back(place.tell,
                          Error{ErrorCode::kTimedOut,
                                "another caller holds the lease, and this one waited as long as it "
                                "said it would"});
      } else if (place.until <= now) {
        told.emplace_back(place.tell,
                          LeaseLost{"the lease was lost: others wait for it, and it was held for "
                                    "longer than lease_limit; acquire it again"});
      } else {
        told.emplace_back(place.tell,
                          LeaseLost{"the lease was lost: its holder gave no sign of life for too "
                                    "long; acquire it again"});
      }
      Release(waiter, told);
    }
    if (!due_.empty()) next = due_.begin()->first;
  }
  TellAll(told);
  return next;
}

void LeaseTable::StartAt(uint64_t fence) {
  const MutexLock lock(mutex_);
  next_fence_ = fence;
}

void LeaseTable::Stop(const Error& why) {
  Told told;
  {
    const MutexLock lock(mutex_);
    stopped_ = why;
    for (auto& [waiter, place] : places_) {
      told.emplace_back(std::move(place.tell),
                        place.waits() ? LeaseNews(why) : LeaseNews(LeaseLost{why.message}));
    }
    places_.clear();
    lines_.clear();
    due_.clear();
  }
  TellAll(told);
}

LeaseTable::Gauges LeaseTable::gauges() const {
  const MutexLock lock(mutex_);
  const auto waiting = static_cast<size_t>(
      std::ranges::count_if(places_, [](const auto& place) { return place.second.waits(); }));
  return {places_.size() - waiting, waiting};
}

std::vector<FlightActivity> LeaseTable::List(std::optional<uid_t> only, size_t* more) const {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  std::vector<FlightActivity> leases;
  const MutexLock lock(mutex_);
  const Time now = options_.now();
  for (const auto& [key, line] : lines_) {
    const Place& holder = places_.at(line.holder);
    const Place* first = nullptr;
    size_t waiters = 0;
    const auto add = [&](const Place& place) {
      if (only && place.wait.uid != *only) return;
      if (waiters++ == 0) first = &place;
    };
    add(holder);
    for (const WaiterId waiter : line.waiting) add(places_.at(waiter));
    for (const WaiterId watcher : line.watching) add(places_.at(watcher));
    if (first == nullptr) continue;
    if (leases.size() == kMaxListedFlights) {
      ++*more;
      continue;
    }
    // A user must not see that another user has held the lease for longer. So for a user, the lease
    // begins at the earliest when the user's first caller came.
    const Time since = only ? std::max(holder.granted, first->came) : holder.granted;
    leases.push_back({.key = key,
                      .kind = first->wait.name_space,
                      .state = FlightState::kLeased,
                      .age = duration_cast<microseconds>(now - first->came),
                      .running = duration_cast<microseconds>(now - since),
                      .waiters = waiters,
                      .uid = first->wait.uid});
  }
  return leases;
}

void LeaseTable::TellAll(Told& told) {
  for (auto& [tell, news] : told) tell(std::move(news));
}

void LeaseClock::Wake() {
  {
    const MutexLock lock(mutex_);
    woken_ = true;
  }
  changed_.NotifyAll();
}

void LeaseClock::Run(const std::stop_token& stop) {
  NameThread("leases");
  const auto woken = [this]() REQUIRES(mutex_) { return woken_; };
  while (!stop.stop_requested()) {
    const std::optional<LeaseTable::Time> next = table_.Pass();
    const MutexLock lock(mutex_);
    if (next) {
      changed_.WaitUntil(mutex_, stop, *next, woken);
    } else {
      changed_.Wait(mutex_, stop, woken);
    }
    woken_ = false;
  }
}

}  // namespace cccl_cache::daemon
