// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/flight_table.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/core/coordinator/breakdown.h"
#include "daemon/core/lookup/history.h"

namespace cccl_cache::daemon {

FlightTable::Ticket FlightTable::Open(bool finishes) {
  const MutexLock lock(mutex_);
  tickets_[++last_ticket_] = {.finishes = finishes};
  return last_ticket_;
}

bool FlightTable::Close(Ticket ticket) {
  const MutexLock lock(mutex_);
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return false;
  const bool wanted = !found->second.ends();
  Forget(found);
  return wanted;
}

void FlightTable::Forget(std::unordered_map<Ticket, TicketState>::iterator ticket) {
  if (ticket->second.left && ticket->second.finishes) --unattended_;
  tickets_.erase(ticket);
  if (tickets_.size() == unattended_) idle_.NotifyAll();
}

void FlightTable::EndWithCaller(Ticket ticket) {
  const MutexLock lock(mutex_);
  const auto state = tickets_.find(ticket);
  if (state == tickets_.end() || !std::exchange(state->second.finishes, false)) return;
  if (state->second.left) --unattended_;
}

void FlightTable::Park(BuildPtr waiter) {
  const MutexLock lock(mutex_);
  const auto state = tickets_.find(waiter->ticket);
  if (state == tickets_.end()) return;
  if (state->second.ends()) return Forget(state);
  state->second.parked = std::move(waiter);
}

BuildPtr FlightTable::TakeParked(Ticket ticket) {
  const MutexLock lock(mutex_);
  const auto state = tickets_.find(ticket);
  return state == tickets_.end() ? nullptr : std::move(state->second.parked);
}

FlightTable::Joined FlightTable::Join(BuildPtr waiter, const Digest& key, NewFlight if_new) {
  const MutexLock lock(mutex_);
  const auto state = tickets_.find(waiter->ticket);
  if (state == tickets_.end() || state->second.ends()) {
    if (state != tickets_.end()) Forget(state);
    return {};
  }
  const auto [entry, leads] = joinable_.try_emplace(key, last_flight_ + 1);
  const uint64_t id = entry->second;
  if (leads) last_flight_ = id;
  Flight& flight = flights_[id];
  if (leads) {
    flight.key = key;
    flight.shared = if_new.shared;
    flight.asking = if_new.asking;
  }
  state->second.flight = id;
  waiter->flight.leads = leads;
  waiter->flight.joined_before_start = !flight.started;
  if (!flight.asking) waiter->flight.counted_as_miss = true;
  flight.waiters.push_back(std::move(waiter));
  ++waiting_;
  return {id, leads, flight.started, flight.asking, flight.stop.get_token()};
}

std::vector<FlightTable::Unqueued> FlightTable::EndAsking(uint64_t flight) {
  std::vector<Unqueued> unqueued;
  const MutexLock lock(mutex_);
  const auto found = flights_.find(flight);
  if (found == flights_.end()) return unqueued;
  found->second.asking = false;
  for (const BuildPtr& waiter : found->second.waiters) {
    const bool missed = !std::exchange(waiter->flight.counted_as_miss, true);
    unqueued.push_back(
        {waiter->ticket, waiter->peer.account(), waiter->request->priority, waiter->plan, missed});
  }
  return unqueued;
}

bool FlightTable::HasBegun(uint64_t flight) const {
  const MutexLock lock(mutex_);
  const auto found = flights_.find(flight);
  return found == flights_.end() || found->second.started;
}

void FlightTable::StopJoining(uint64_t id, Flight* flight) {
  if (!flight->joinable) return;
  flight->joinable = false;
  const auto entry = joinable_.find(flight->key);
  if (entry != joinable_.end() && entry->second == id) joinable_.erase(entry);
}

std::optional<FlightTable::Started> FlightTable::Begin(uint64_t flight) {
  const MutexLock lock(mutex_);
  const auto found = flights_.find(flight);
  if (cancelled_ || found == flights_.end() || found->second.started) return std::nullopt;
  found->second.started = true;
  found->second.begun = std::chrono::steady_clock::now();
  if (!found->second.shared) StopJoining(flight, &found->second);
  const Build& first = *found->second.waiters.front();
  return Started{.plan = first.plan,
                 .caller = {first.peer, first.files},
                 .manifest = first.findings.manifest.shared,
                 .stop = found->second.stop.get_token(),
                 .overtaken = first.flight.overtaken};
}

std::vector<BuildPtr> FlightTable::TakeOthers(uint64_t flight, uid_t uid, const Digest& key) {
  std::vector<BuildPtr> others;
  std::stop_source stop(std::nostopstate);
  {
    const MutexLock lock(mutex_);
    const auto found = flights_.find(flight);
    if (found == flights_.end()) return others;
    const bool joinable = found->second.joinable;
    StopJoining(flight, &found->second);
    std::vector<BuildPtr>& waiters = found->second.waiters;
    for (BuildPtr& waiter : waiters) {
      if (waiter->peer.uid == uid) continue;
      tickets_[waiter->ticket].flight = 0;
      others.push_back(std::move(waiter));
    }
    std::erase(waiters, nullptr);
    waiting_ -= others.size();
    if (waiters.empty()) {
      stop = found->second.stop;
      flights_.erase(found);
    } else {
      waiters.front()->flight.leads = true;
      found->second.joinable = joinable && joinable_.try_emplace(key, flight).second;
      found->second.key = key;
    }
  }
  stop.request_stop();
  return others;
}

std::vector<BuildPtr> FlightTable::Finish(uint64_t flight) {
  std::vector<BuildPtr> waiters;
  std::stop_source stop(std::nostopstate);
  {
    const MutexLock lock(mutex_);
    const auto found = flights_.find(flight);
    if (found == flights_.end()) return {};
    StopJoining(flight, &found->second);
    waiters = std::move(found->second.waiters);
    waiting_ -= waiters.size();
    stop = found->second.stop;
    flights_.erase(found);
    for (const BuildPtr& waiter : waiters) tickets_[waiter->ticket].flight = 0;
  }
  stop.request_stop();
  return waiters;
}

FlightTable::Left FlightTable::RemoveWaiter(Ticket ticket, uint64_t id, std::stop_source* stop) {
  Left left;
  Flight& flight = flights_.at(id);
  const auto waiter = std::find_if(flight.waiters.begin(), flight.waiters.end(),
                                   [&](const BuildPtr& each) { return each->ticket == ticket; });
  left.flight = id;
  left.waiter = std::move(*waiter);
  flight.waiters.erase(waiter);
  --waiting_;
  left.last = flight.waiters.empty();
  if (left.waiter->flight.leads && !left.last) flight.waiters.front()->flight.leads = true;
  if (left.last) {
    StopJoining(id, &flight);
    *stop = flight.stop;
    flights_.erase(id);
  }
  return left;
}

FlightTable::Left FlightTable::Leave(Ticket ticket) {
  Left left;
  std::stop_source stop(std::nostopstate);
  {
    const MutexLock lock(mutex_);
    const auto state = tickets_.find(ticket);
    if (state == tickets_.end()) return left;
    if (state->second.finishes && !IsFinishedForAnother(ticket, state->second)) {
      if (!std::exchange(state->second.left, true)) ++unattended_;
      if (tickets_.size() == unattended_) idle_.NotifyAll();
      return left;
    }
    if (state->second.parked != nullptr) {
      left.waiter = std::move(state->second.parked);
    } else if (state->second.flight == 0) {  // the build is being looked up now: Close, Park or
                                             // Join will see `left`
      state->second.left = true;
      return left;
    } else {
      left = RemoveWaiter(ticket, state->second.flight, &stop);
    }
    Forget(state);
  }
  stop.request_stop();
  return left;
}

bool FlightTable::IsFinishedForAnother(Ticket ticket, const TicketState& state) const {
  if (state.flight == 0) return false;
  const std::vector<BuildPtr>& waiters = flights_.at(state.flight).waiters;
  const auto own = std::ranges::find(waiters, ticket, &Build::ticket);
  return std::ranges::any_of(waiters, [&](const BuildPtr& each) REQUIRES(mutex_) {
    return each->ticket != ticket && each->peer.account() == (*own)->peer.account() &&
           tickets_.at(each->ticket).finishes;
  });
}

FlightTable::Left FlightTable::TakeOutOfLine(Ticket ticket) {
  Left left;
  std::stop_source stop(std::nostopstate);
  {
    const MutexLock lock(mutex_);
    const auto state = tickets_.find(ticket);
    if (state == tickets_.end() || state->second.flight == 0) return left;
    if (flights_.at(state->second.flight).started) return left;
    left = RemoveWaiter(ticket, state->second.flight, &stop);
    state->second.flight = 0;
  }
  stop.request_stop();
  return left;
}

size_t FlightTable::Waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
}

std::vector<FlightActivity> FlightTable::List(const Peer& asker, size_t* more) const {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  using Time = std::chrono::steady_clock::time_point;
  *more = 0;
  const bool all_users = asker.administrator;
  if (!all_users && asker.uid == kOverflowUid) return {};
  struct Listed {
    std::shared_ptr<const BuildPlan> plan;
    uid_t uid = 0;
    size_t waiters = 0;
    bool of_asker = false;
    Time joined;
    Time begun = Time::max();
  };
  std::vector<Listed> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, flight] : flights_) {
      Listed listed;
      for (const BuildPtr& waiter : flight.waiters) {
        if (!all_users && waiter->peer.uid != asker.uid) continue;
        if (asker.pid != 0 && waiter->peer.pid == asker.pid) listed.of_asker = true;
        if (listed.waiters++ > 0) continue;
        listed.plan = waiter->plan;
        listed.uid = waiter->peer.uid;
        listed.joined = waiter->flight.joined;
      }
      if (listed.waiters == 0) continue;
      if (flight.started) listed.begun = flight.begun;
      all.push_back(std::move(listed));
    }
  }
  const auto shown = all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), kMaxListedFlights));
  std::ranges::partial_sort(all, shown, {},
                            [](const Listed& each) { return std::pair(each.begun, each.joined); });
  *more = static_cast<size_t>(all.end() - shown);

  const Time now = std::chrono::steady_clock::now();
  std::vector<FlightActivity> flights;
  for (auto each = all.begin(); each != shown; ++each) {
    const CompileJob& job = each->plan->job;
    const bool runs = each->begun != Time::max();
    // A user must not see that another user started the same compile earlier. So for a user, the
    // compile begins when the user's first waiter joined.
    const Time since = all_users ? each->begun : std::max(each->begun, each->joined);
    flights.push_back({.key = each->plan->key,
                       .kind = std::string(NameOf(job.request->kind())),
                       .toolchain = ToolchainLabel(job.toolchain->version(), job.toolchain->id),
                       .program = ShownName(*job.request),
                       .state = runs ? FlightState::kRunning : FlightState::kQueued,
                       .age = duration_cast<microseconds>(now - each->joined),
                       .running = runs ? duration_cast<microseconds>(now - since) : microseconds{0},
                       .waiters = each->waiters,
                       .uid = each->uid,
                       .of_asker = each->of_asker});
  }
  return flights;
}

Result<std::shared_ptr<const BuildRequest>> FlightTable::RequestOf(const DigestPrefix& key,
                                                                   uid_t uid) const {
  std::shared_ptr<const BuildRequest> request;
  if (uid == kOverflowUid) return request;
  std::set<Digest> keys;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, flight] : flights_) {
      for (const BuildPtr& waiter : flight.waiters) {
        if (waiter->peer.uid != uid || !key.Matches(waiter->plan->key)) continue;
        if (keys.size() < kMaxCountedKeys) keys.insert(waiter->plan->key);
        if (request == nullptr) request = waiter->request;
      }
    }
  }
  if (keys.size() > 1) return SeveralKeys(key, keys.size());
  return request;
}

void FlightTable::CancelAll() {
  std::vector<std::stop_source> stops;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    for (const auto& [id, flight] : flights_) stops.push_back(flight.stop);
  }
  for (std::stop_source& stop : stops) stop.request_stop();
}

std::vector<BuildPtr> FlightTable::TakeAll() {
  const MutexLock lock(mutex_);
  std::vector<BuildPtr> waiters;
  for (auto& [id, flight] : flights_) {
    std::move(flight.waiters.begin(), flight.waiters.end(), std::back_inserter(waiters));
  }
  flights_.clear();
  joinable_.clear();
  waiting_ = 0;
  for (const BuildPtr& waiter : waiters) tickets_[waiter->ticket].flight = 0;
  for (auto& [ticket, state] : tickets_) {
    if (state.parked != nullptr) waiters.push_back(std::move(state.parked));
  }
  return waiters;
}

bool FlightTable::WaitUntilIdle(std::chrono::milliseconds deadline) {
  const MutexLock lock(mutex_);
  return idle_.WaitFor(mutex_, deadline,
                       [this]() REQUIRES(mutex_) { return tickets_.size() == unattended_; });
}

}  // namespace cccl_cache::daemon
