// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/read_gate.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <vector>

namespace cccl_cache::daemon {

bool ReadGate::MayRead(Account account, const User& user) const {
  return user.reading.size() < allowance_.Most(account, user.reading.size(), reading_);
}

void ReadGate::Enter(Account account, GatedReader& reader) {
  {
    const MutexLock lock(mutex_);
    User& user = users_[account];
    if (!user.waiting.empty() || !MayRead(account, user)) {
      user.waiting.push_back(&reader);
      return;
    }
    user.reading[&reader] = Clock::now();
    reading_.Add(account, 1);
  }
  reader.StartReading();
}

void ReadGate::Admit(Account account, User& user, std::vector<GatedReader*>* admitted) {
  while (!user.waiting.empty() && MayRead(account, user)) {
    admitted->push_back(user.waiting.front());
    user.reading[user.waiting.front()] = Clock::now();
    user.waiting.pop_front();
    reading_.Add(account, 1);
  }
}

void ReadGate::Leave(Account account, GatedReader& reader) {
  std::vector<GatedReader*> next;
  {
    const MutexLock lock(mutex_);
    const auto left = users_.find(account);
    assert(left != users_.end() && left->second.reading.contains(&reader) && reading_.in_all > 0);
    left->second.reading.erase(&reader);
    reading_.Remove(account, 1);
    Admit(account, left->second, &next);
    // If no reader of this user can be admitted, readers of other users may be waiting for the
    // bound on all users. The other users are visited in turn, starting with the next one.
    if (next.empty()) {
      for (auto user = std::next(left); user != users_.end(); ++user) {
        Admit(user->first, user->second, &next);
      }
      for (auto user = users_.begin(); user != left; ++user) {
        Admit(user->first, user->second, &next);
      }
    }
    if (left->second.reading.empty() && left->second.waiting.empty()) users_.erase(left);
  }
  for (GatedReader* each : next) each->StartReading();
}

void ReadGate::EndSlow(Clock::time_point now) {
  const MutexLock lock(mutex_);
  const bool lacking = std::ranges::any_of(users_, [](const auto& user) {
    return user.second.reading.empty() && !user.second.waiting.empty();
  });
  if (!lacking) return;
  for (auto& [account, user] : users_) {
    for (const auto& [reader, since] : user.reading) {
      // The reader still exists, because a reader must call Leave before it is destroyed.
      if (now - since >= kPatience) reader->GiveUp();
    }
  }
}

bool ReadGate::Withdraw(Account account, GatedReader& reader) {
  const MutexLock lock(mutex_);
  const auto user = users_.find(account);
  if (user == users_.end()) return false;
  auto& waiting = user->second.waiting;
  const auto found = std::ranges::find(waiting, &reader);
  if (found == waiting.end()) return false;
  waiting.erase(found);
  if (user->second.reading.empty() && waiting.empty()) users_.erase(user);
  return true;
}

}  // namespace cccl_cache::daemon
