// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/core/lookup/past_build.h"
#include "daemon/core/model/account.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Each user's last builds that were compiled, in memory only: what `explain` compares with. A user
/// is told of his own alone. Bounded in bytes, each account's and all together: above its share an
/// account's own oldest goes first, above the total the oldest of the account that has most; of an
/// account's users the one who has most loses it. Thread-safe.
class BuildHistory {
 public:
  /// One account may have this part of the whole, and one user so many builds.
  static constexpr size_t kShares = 8;
  static constexpr size_t kMostBuilds = 256;

  explicit BuildHistory(size_t capacity_bytes)
      : share_(capacity_bytes / kShares), usage_({share_, capacity_bytes}) {}

  /// A closure that is too large is left out, and so is a build that is. Nothing is remembered for
  /// the overflow uid, which stands for many users.
  void Add(uid_t uid, Account account, PastBuild build);

  [[nodiscard]] bool Knows(uid_t uid, const cccl_cache::Digest& key) const;
  /// This user's, the newest first.
  [[nodiscard]] std::vector<PastBuildPtr> Of(uid_t uid) const;

  [[nodiscard]] size_t bytes() const;

 private:
  struct User {
    std::deque<PastBuildPtr> newest_first;      // never empty
    std::map<const Closure*, size_t> closures;  // how many builds share each
    size_t bytes = 0;
  };

  // All of these require mutex_ held.
  void ShareClosure(uid_t uid, PastBuild* build) const;
  [[nodiscard]] size_t Cost(uid_t uid, const PastBuild& build) const;
  void DropOldest(uid_t uid);

  const size_t share_;
  mutable std::mutex mutex_;
  std::map<uid_t, User> users_;  // guarded by mutex_
  AccountUsage usage_;           // guarded by mutex_
};

}  // namespace cccl_cache::daemon
