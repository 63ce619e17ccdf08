// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/departures.h"

namespace cccl_cached {

using cccl_cache::Digest;

void Departures::Note(const Digest& key, DepartureCause cause) {
  const std::lock_guard lock(mutex_);
  const uint64_t number = ++last_number_;
  by_key_[key] = {{cause, std::chrono::system_clock::now()}, number};
  std::deque<Place>& places = oldest_first_[static_cast<size_t>(cause)];
  places.push_back({key, number});
  if (places.size() <= kept_per_cause_) return;
  // What departed again since stands further back as well.
  const auto oldest = by_key_.find(places.front().key);
  if (oldest != by_key_.end() && oldest->second.number == places.front().number) {
    by_key_.erase(oldest);
  }
  places.pop_front();
}

std::optional<Departures::Departure> Departures::Find(const Digest& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  return found->second.departure;
}

}  // namespace cccl_cached
