// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "daemon/core/answered_builds.h"

namespace cccl_cached::testing {

/// What users were answered with, in memory. Not thread-safe.
class FakeAnswered final : public AnsweredBuilds {
 public:
  void Note(uid_t uid, AnsweredBuild build) override { builds_[uid].push_back(std::move(build)); }
  std::vector<AnsweredBuild> Of(uid_t uid) override {
    ++readings;
    std::vector<AnsweredBuild> builds = builds_[uid];
    std::ranges::sort(builds, {}, &AnsweredBuild::key);
    return builds;
  }
  std::vector<uid_t> Users() override {
    std::vector<uid_t> users;
    for (const auto& [uid, builds] : builds_) users.push_back(uid);
    return users;
  }

  int readings = 0;  ///< of a user's builds

 private:
  std::map<uid_t, std::vector<AnsweredBuild>> builds_;
};

}  // namespace cccl_cached::testing
