// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{1'000};

}  // namespace

Result<std::shared_ptr<void>> Places::Take(Account account, const std::stop_token& left) {
  std::unique_lock lock(mutex_);
  if (std::ranges::find(waiting_, account) != waiting_.end()) {
    return Error{ErrorCode::kOverloaded,
                 fmt::format("{} is at work on one snapshot and waits with another: wait for "
                             "the end of one",
                             account.Name()),
                 kRetryAfter};
  }
  const auto mine = waiting_.insert(waiting_.end(), account);
  const bool mine_now = changed_.wait(lock, left, [&] { return IsNext(account); });
  waiting_.erase(mine);
  // Who is behind may be next.
  changed_.notify_all();
  if (!mine_now) return Error{ErrorCode::kCancelled, "the caller left"};
  inside_.insert(account);
  return std::shared_ptr<void>(this, [this, account](void*) { GiveBack(account); });
}

bool Places::IsNext(Account account) const {
  if (inside_.size() >= count_) return false;
  const auto next =
      std::ranges::find_if(waiting_, [&](Account each) { return !inside_.contains(each); });
  return next != waiting_.end() && *next == account;
}

void Places::GiveBack(Account account) {
  {
    const std::lock_guard lock(mutex_);
    inside_.erase(account);
  }
  changed_.notify_all();
}

}  // namespace cccl_cache::daemon
