// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/steps/flights.h"

#include <algorithm>
#include <vector>

namespace cccl_cache {
namespace {

constinit std::atomic<Flights*> this_process{nullptr};
/// The flights that this thread leads, also those that it led before its process was forked.
thread_local std::vector<std::shared_ptr<Flight>> led;

}  // namespace

Flights& Flights::OfThisProcess() {
  Flights* known = this_process.load();
  if (known != nullptr && known->owner_.IsThis()) return *known;
  auto made = std::make_unique<Flights>();
  made->parents_ = known;
  if (!this_process.compare_exchange_strong(known, made.get())) return *known;
  return *made.release();
}

Flights::Seat Flights::Find(const std::string& name) {
  MutexLock lock(mutex_);
  return Look(name);
}

Flights::Seat Flights::Enter(const std::string& name) {
  MutexLock lock(mutex_);
  Seat seat = Look(name);
  if (seat.flight != nullptr) return seat;
  seat = {.flight = std::make_shared<Flight>(name, this), .leads = true};
  by_name_[name] = seat.flight;
  led.push_back(seat.flight);
  return seat;
}

bool Flights::ThreadLeadsAnother(const Flight& flight) {
  return std::ranges::any_of(
      led, [&](const auto& each) { return each.get() != &flight && !each->over(); });
}

Flights::Seat Flights::Look(const std::string& name) {
  const Moment now = std::chrono::steady_clock::now();
  std::erase_if(led, [&](const auto& flight) {
    return flight->over() || (flight->owned() && flight->waits_end_ <= now);
  });
  for (const auto& flight : led) {
    if (flight->name_ == name) return {.flight = flight, .nested = true};
  }
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return {};
  if (found->second->waits_end_ > now) return {.flight = found->second};
  by_name_.erase(found);
  return {};
}

void Flights::Finish(Flight& flight, std::shared_ptr<const StepValue> made, bool found) {
  if (!flight.owned()) {  // its lock is the parent's, and so are the threads that wait
    flight.over_ = true;
    return;
  }
  Flights& flights = *flight.flights_;
  MutexLock lock(flights.mutex_);
  const auto known = flights.by_name_.find(flight.name_);
  if (known != flights.by_name_.end() && known->second.get() == &flight) {
    flights.by_name_.erase(known);
  }
  flight.over_ = true;
  flight.made_ = std::move(made);
  flight.found_ = found;
  flight.changed_.NotifyAll();
}

void Flights::EndWaitsAt(Flight& flight, Moment moment) {
  MutexLock lock(flight.flights_->mutex_);
  flight.waits_end_ = moment;
  flight.changed_.NotifyAll();
}

std::shared_ptr<const StepValue> Flights::Wait(Flight& flight, Moment deadline) {
  Mutex& mutex = flight.flights_->mutex_;
  MutexLock lock(mutex);
  while (!flight.over_) {
    const Moment bound = flight.waits_end_;
    const Moment until = std::min(deadline, bound);
    if (std::chrono::steady_clock::now() >= until) return nullptr;
    flight.changed_.WaitUntil(mutex, until,
                              [&] { return flight.over_ || flight.waits_end_ != bound; });
  }
  return flight.made_;
}

}  // namespace cccl_cache
