// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/build_history.h"

#include <algorithm>
#include <utility>

#include "daemon/core/model/peer.h"

namespace cccl_cache::daemon {
namespace {

// Of so many earlier builds it is looked whether their files were the same: mostly the last one's.
constexpr size_t kCompared = 4;

}  // namespace

void BuildHistory::Add(uid_t uid, Account account, PastBuild build) {
  if (build.closure && FootprintOf(*build.closure) > share_ / 2) build.closure = nullptr;
  if (uid == kOverflowUid || FootprintOf(build) > share_ / 2) return;
  const std::lock_guard lock(mutex_);
  ShareClosure(uid, &build);
  while (const auto loser = usage_.MustGiveWay(account, Cost(uid, build))) DropOldest(*loser);
  const size_t cost = Cost(uid, build);
  User& user = users_[uid];
  if (build.closure) ++user.closures[build.closure.get()];
  user.bytes += cost;
  user.newest_first.push_front(std::make_shared<const PastBuild>(std::move(build)));
  usage_.Set(uid, account, user.bytes);
  if (user.newest_first.size() > kMostBuilds) DropOldest(uid);
}

bool BuildHistory::Knows(uid_t uid, const cccl_cache::Digest& key) const {
  const std::lock_guard lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return false;
  return std::ranges::any_of(user->second.newest_first,
                             [&](const PastBuildPtr& build) { return build->key == key; });
}

std::vector<PastBuildPtr> BuildHistory::Of(uid_t uid) const {
  const std::lock_guard lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return {};
  return {user->second.newest_first.begin(), user->second.newest_first.end()};
}

size_t BuildHistory::bytes() const {
  const std::lock_guard lock(mutex_);
  return usage_.in_all();
}

void BuildHistory::ShareClosure(uid_t uid, PastBuild* build) const {
  const auto user = users_.find(uid);
  if (user == users_.end() || build->closure == nullptr) return;
  const auto& builds = user->second.newest_first;
  const size_t count = std::min(kCompared, builds.size());
  for (size_t i = 0; i < count; ++i) {
    const auto& known = builds[i]->closure;
    if (known == nullptr || *known != *build->closure) continue;
    build->closure = known;
    return;
  }
}

// How many bytes more the user has with this build.
size_t BuildHistory::Cost(uid_t uid, const PastBuild& build) const {
  const size_t bytes = FootprintOf(build);
  if (build.closure == nullptr) return bytes;
  const auto user = users_.find(uid);
  const bool shared = user != users_.end() && user->second.closures.contains(build.closure.get());
  return shared ? bytes : bytes + FootprintOf(*build.closure);
}

void BuildHistory::DropOldest(uid_t uid) {
  const auto user = users_.find(uid);
  User& loser = user->second;
  const PastBuildPtr build = std::move(loser.newest_first.back());
  loser.newest_first.pop_back();
  loser.bytes -= FootprintOf(*build);
  if (build->closure && --loser.closures[build->closure.get()] == 0) {
    loser.closures.erase(build->closure.get());
    loser.bytes -= FootprintOf(*build->closure);
  }
  usage_.Set(uid, usage_.AccountOf(uid), loser.bytes);
  if (loser.newest_first.empty()) users_.erase(user);
}

}  // namespace cccl_cache::daemon
