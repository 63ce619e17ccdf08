// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/hung_reads.h"

namespace cccl_cache::daemon {

void HungReads::Begin(Account account) {
  const MutexLock lock(mutex_);
  ++of_[account];
  ++count_;
}

void HungReads::End(Account account) {
  const MutexLock lock(mutex_);
  const auto user = of_.find(account);
  if (--user->second == 0) of_.erase(user);
  --count_;
}

bool HungReads::Full(Account account) const {
  const MutexLock lock(mutex_);
  const auto user = of_.find(account);
  const size_t mine = user == of_.end() ? 0 : user->second;
  return mine >= Allowance{kMaxPerUid, kMax}.Most(account, mine, count_);
}

size_t HungReads::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

}  // namespace cccl_cache::daemon
