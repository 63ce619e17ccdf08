// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build_history.h"

#include <algorithm>
#include <utility>

#include "daemon/core/peer.h"

namespace cccl_cached {
namespace {

// Of so many earlier builds it is looked whether their files were the same: mostly the last one's.
constexpr size_t kCompared = 4;

}  // namespace

void BuildHistory::Add(uid_t uid, PastBuild build) {
  if (build.closure && FootprintOf(*build.closure) > Share() / 2) build.closure = nullptr;
  if (uid == kOverflowUid || FootprintOf(build) > Share() / 2) return;
  const std::lock_guard lock(mutex_);
  User& user = users_[uid];
  ShareClosure(user, &build);
  Put(&user, std::make_shared<const PastBuild>(std::move(build)));
  while (user.bytes > Share() || user.newest_first.size() > kMostBuilds) DropOldest(&user);
  while (bytes_ > capacity_) {
    const auto largest =
        std::ranges::max_element(users_, {}, [](const auto& each) { return each.second.bytes; });
    DropOldest(&largest->second);
    if (largest->second.newest_first.empty()) users_.erase(largest);
  }
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
  return bytes_;
}

void BuildHistory::ShareClosure(const User& user, PastBuild* build) const {
  if (build->closure == nullptr) return;
  const size_t count = std::min(kCompared, user.newest_first.size());
  for (size_t i = 0; i < count; ++i) {
    const auto& known = user.newest_first[i]->closure;
    if (known == nullptr || *known != *build->closure) continue;
    build->closure = known;
    return;
  }
}

void BuildHistory::Put(User* user, PastBuildPtr build) {
  size_t bytes = FootprintOf(*build);
  if (build->closure && ++user->closures[build->closure.get()] == 1) {
    bytes += FootprintOf(*build->closure);
  }
  user->bytes += bytes;
  bytes_ += bytes;
  user->newest_first.push_front(std::move(build));
}

void BuildHistory::DropOldest(User* user) {
  const PastBuildPtr build = std::move(user->newest_first.back());
  user->newest_first.pop_back();
  size_t bytes = FootprintOf(*build);
  if (build->closure && --user->closures[build->closure.get()] == 0) {
    user->closures.erase(build->closure.get());
    bytes += FootprintOf(*build->closure);
  }
  user->bytes -= bytes;
  bytes_ -= bytes;
}

}  // namespace cccl_cached
