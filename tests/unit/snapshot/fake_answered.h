// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon::testing {

/// Thread-safe.
class FakeAnswered final : public AnsweredBuilds {
 public:
  void Note(uid_t uid, AnsweredBuild build) override {
    const std::lock_guard lock(mutex_);
    builds_[uid].push_back(std::move(build));
  }
  std::vector<AnsweredBuild> Of(uid_t uid) override {
    const std::lock_guard lock(mutex_);
    ++readings;
    std::vector<AnsweredBuild> builds = builds_[uid];
    std::ranges::sort(builds, {}, &AnsweredBuild::key);
    return builds;
  }
  bool Has(uid_t uid, const cccl_cache::Digest& key) override {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(builds_[uid], key, &AnsweredBuild::key) != builds_[uid].end();
  }
  std::vector<cccl_cache::Digest> KeysWith(uid_t uid, const cccl_cache::DigestPrefix& prefix,
                                           size_t most) override {
    std::vector<cccl_cache::Digest> keys;
    for (const AnsweredBuild& build : Of(uid)) {
      if (prefix.Matches(build.key) && keys.size() < most) keys.push_back(build.key);
    }
    return keys;
  }
  std::vector<uid_t> Users() override {
    const std::lock_guard lock(mutex_);
    std::vector<uid_t> users;
    for (const auto& [uid, builds] : builds_) users.push_back(uid);
    return users;
  }

  int readings = 0;  ///< number of reads of a user's builds; to be read while no call runs

 private:
  std::mutex mutex_;
  std::map<uid_t, std::vector<AnsweredBuild>> builds_;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon::testing
