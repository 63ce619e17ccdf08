// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon::testing {

/// Users' own entries, in a map. Thread-safe.
class FakePrivateEntries final : public PrivateEntries {
 public:
  bool MayHave(uid_t uid, const cccl_cache::Digest& key) override {
    const std::lock_guard lock(mutex_);
    return entries_.contains({uid, key});
  }
  bool HasAny(uid_t uid) {
    const std::lock_guard lock(mutex_);
    const auto first = entries_.lower_bound({uid, {}});
    return first != entries_.end() && first->first.first == uid;
  }
  Found Get(uid_t uid, const cccl_cache::Digest& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find({uid, key});
    if (found == entries_.end()) return {};
    return {found->second, TierName::kDisk};
  }
  Found FindInMemory(uid_t, const cccl_cache::Digest&) override { return {}; }
  [[nodiscard]] uint64_t limit_bytes() const override { return 1 << 20; }
  uint64_t NextGeneration(uid_t, std::chrono::system_clock::time_point) override {
    return ++generations_;
  }
  Result<Inserted> Put(uid_t uid, const cccl_cache::Digest& key, const ArtifactPtr& artifact,
                       uint64_t) override {
    if (on_put) on_put();
    const std::lock_guard lock(mutex_);
    const bool now = entries_.insert_or_assign({uid, key}, artifact).second;
    return now ? Inserted::kNow : Inserted::kBefore;
  }

  std::function<void()> on_put;  ///< called first, without a lock

 private:
  std::atomic<uint64_t> generations_ = 0;
  std::mutex mutex_;
  std::map<std::pair<uid_t, cccl_cache::Digest>, ArtifactPtr> entries_;
};

}  // namespace cccl_cache::daemon::testing
