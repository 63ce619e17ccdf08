// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/hung_reads.h"

namespace cccl_cached {

void HungReads::Begin(uid_t uid) {
  const std::lock_guard lock(mutex_);
  ++of_[uid];
  ++count_;
}

void HungReads::End(uid_t uid) {
  const std::lock_guard lock(mutex_);
  const auto user = of_.find(uid);
  if (--user->second == 0) of_.erase(user);
  --count_;
}

bool HungReads::Full(uid_t uid) const {
  const std::lock_guard lock(mutex_);
  const auto user = of_.find(uid);
  return count_ >= kMost || (user != of_.end() && user->second >= kMostPerUid);
}

size_t HungReads::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace cccl_cached
