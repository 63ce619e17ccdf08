// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/usage_ledger.h"

#include <utility>

namespace cccl_cache::daemon {

void UsageLedger::Used(const cccl_cache::Digest& key) {
  constexpr size_t kMaximum = 16384;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::lock_guard lock(mutex_);
  if (pending_.size() >= kMaximum && !pending_.contains(key)) return;
  Uses& uses = pending_[key];
  ++uses.hits;
  uses.last = now;
}

UsageLedger::Pending UsageLedger::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(pending_, {});
}

}  // namespace cccl_cache::daemon
