// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/core/past_build.h"
#include "proto/digest.h"

namespace cccl_cached {

/// Each user's last builds that were compiled, in memory only: what `explain` compares with. A user
/// is told of his own alone. Bounded in bytes, each user's and all together: a user's own oldest
/// goes first, then the oldest of whoever has most. Thread-safe.
class BuildHistory {
 public:
  /// One user may have this part of the whole, and so many builds.
  static constexpr size_t kShares = 8;
  static constexpr size_t kMostBuilds = 256;

  explicit BuildHistory(size_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// A closure that is too large is left out, and so is a build that is. Nothing is remembered for
  /// the overflow uid, which stands for many users.
  void Add(uid_t uid, PastBuild build);

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
  [[nodiscard]] size_t Share() const { return capacity_ / kShares; }
  void ShareClosure(const User& user, PastBuild* build) const;
  void Put(User* user, PastBuildPtr build);
  void DropOldest(User* user);

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::map<uid_t, User> users_;  // guarded by mutex_
  size_t bytes_ = 0;             // guarded by mutex_
};

}  // namespace cccl_cached
