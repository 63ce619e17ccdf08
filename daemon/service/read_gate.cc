// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/read_gate.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace cccl_cached {

bool ReadGate::MayRead(const User& user) const {
  if (user.reading < limits_.always) return true;
  return user.reading < limits_.per_uid && reading_ < limits_.in_all;
}

void ReadGate::Enter(uid_t uid, GatedReader& reader) {
  {
    std::lock_guard lock(mutex_);
    User& user = users_[uid];
    if (!user.waiting.empty() || !MayRead(user)) {
      user.waiting.push_back(&reader);
      return;
    }
    ++user.reading;
    ++reading_;
  }
  reader.StartReading();
}

void ReadGate::Leave(uid_t uid) {
  std::vector<GatedReader*> next;
  {
    std::lock_guard lock(mutex_);
    const auto left = users_.find(uid);
    assert(left != users_.end() && left->second.reading > 0 && reading_ > 0);
    --left->second.reading;
    --reading_;
    auto admit = [&](User& user) {
      while (!user.waiting.empty() && MayRead(user)) {
        next.push_back(user.waiting.front());
        user.waiting.pop_front();
        ++user.reading;
        ++reading_;
      }
    };
    admit(left->second);
    // Only who was kept back by the bound in all can profit from another's leaving.
    if (next.empty()) {
      for (auto& [other, user] : users_) admit(user);
    }
    if (left->second.reading == 0 && left->second.waiting.empty()) users_.erase(left);
  }
  for (GatedReader* reader : next) reader->StartReading();
}

bool ReadGate::Withdraw(uid_t uid, GatedReader& reader) {
  std::lock_guard lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return false;
  auto& waiting = user->second.waiting;
  const auto found = std::ranges::find(waiting, &reader);
  if (found == waiting.end()) return false;
  waiting.erase(found);
  if (user->second.reading == 0 && waiting.empty()) users_.erase(user);
  return true;
}

}  // namespace cccl_cached
