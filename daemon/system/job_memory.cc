// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/job_memory.h"

#include <fmt/format.h>

namespace cccl_cache::daemon {

Result<JobMemory::Share> JobMemory::Take(Account account, uint64_t bytes,
                                         Clock::time_point deadline, const std::stop_token& stop) {
  if (bytes > allowance_.per_account) {
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("{} bytes at once: compiles of one user may make the daemon hold at "
                             "most {} (a quarter of in_flight_limit_per_uid)",
                             bytes, allowance_.per_account)};
  }
  const MutexLock lock(mutex_);
  const auto user = users_.try_emplace(account).first;
  std::list<uint64_t>& line = user->second.line;
  const auto place = line.insert(line.end(), bytes);
  const bool granted = changed_.WaitUntil(mutex_, stop, deadline, [&]() REQUIRES(mutex_) {
    return place == line.begin() && Fits(*user, bytes);
  });
  line.erase(place);
  changed_.NotifyAll();  // wakes the next waiter
  if (!granted) {
    const uint64_t held = user->second.held;
    Forget(user);
    if (stop.stop_requested()) {
      return Error{ErrorCode::kCancelled, "the compile was ended: no caller waits for it any more"};
    }
    return Error{ErrorCode::kTimedOut,
                 fmt::format("the daemon had no memory for the compile's result of {} bytes before "
                             "its time was up: {} has {} of at most {}, all users {} of {}",
                             bytes, account.Name(), held, allowance_.per_account, held_.in_all,
                             allowance_.in_all)};
  }
  user->second.held += bytes;
  held_.Add(account, bytes);
  return Share(nullptr, [self = shared_from_this(), account, bytes](const void*) {
    self->Give(account, bytes);
  });
}

uint64_t JobMemory::used() const {
  const MutexLock lock(mutex_);
  return held_.in_all;
}

bool JobMemory::Fits(const Users::value_type& user, uint64_t bytes) const {
  const auto& [account, mine] = user;
  return mine.held + bytes <= allowance_.Most(account, mine.held, held_);
}

void JobMemory::Forget(Users::iterator user) {
  if (user->second.held == 0 && user->second.line.empty()) users_.erase(user);
}

void JobMemory::Give(Account account, uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto user = users_.find(account);
  user->second.held -= bytes;
  held_.Remove(account, bytes);
  Forget(user);
  changed_.NotifyAll();
}

}  // namespace cccl_cache::daemon
