// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// Counts, for each user, the threads that still wait for a disk although their job is over. They
/// can't be ended, so a user who has too many may start no more. Thread-safe.
class HungReads {
 public:
  static constexpr size_t kMaxPerUid = 16;
  static constexpr size_t kMax = 256;  ///< of all users

  void Begin(Account account);
  void End(Account account);

  /// Returns whether the jobs of this user may no longer ask for files.
  [[nodiscard]] bool Full(Account account) const;
  [[nodiscard]] size_t count() const;

 private:
  mutable Mutex mutex_;
  std::map<Account, size_t> of_ GUARDED_BY(mutex_);  // no zeros
  size_t count_ GUARDED_BY(mutex_) = 0;
};

/// The hung reads of one user. Threads that hang hold the table by shared_ptr: it may outlive its
/// owner.
struct HungReadsOf {
  std::shared_ptr<HungReads> table;
  Account account;
};

}  // namespace cccl_cache::daemon
