// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/deposit_readers.h"

namespace cccl_cache::daemon {

Result<std::shared_ptr<const void>> DepositReaders::Add(Account account,
                                                        const DepositContents& contents) {
  const Key key{account, contents.get()};
  const std::lock_guard lock(mutex_);
  if (const auto found = reading_.find(key); found != reading_.end()) {
    if (auto reading = found->second.lock()) return std::shared_ptr<const void>(reading);
  }
  auto share = budget_.Take(account, Resource::kBytes, contents->size());
  if (!share) return share.error();
  const std::shared_ptr<const Reading> reading(new Reading{contents, *std::move(share)},
                                               [this, key](const Reading* done) {
                                                 delete done;
                                                 Forget(key);
                                               });
  reading_[key] = reading;
  return std::shared_ptr<const void>(reading);
}

void DepositReaders::Forget(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = reading_.find(key);
  // Others may have begun to read meanwhile.
  if (found != reading_.end() && found->second.expired()) reading_.erase(found);
}

}  // namespace cccl_cache::daemon
