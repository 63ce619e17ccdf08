// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/service/limits/budget.h"

namespace cccl_cache::daemon {

/// Counts deposits that are being sent among the bytes of those whom they are sent to: the same
/// bytes once for each user, however many of his calls share them. So a thousand who waited for one
/// deposit cost what they hold in memory, and who reads slowly costs nobody else. Thread-safe.
class DepositReaders {
 public:
  /// The budget must outlive the object, and this all that it hands out.
  explicit DepositReaders(Budget& budget) : budget_(budget) {}

  /// To be held while the contents are sent. kOverloaded: the user has too many bytes under way.
  [[nodiscard]] Result<std::shared_ptr<const void>> Add(Account account,
                                                        const DepositContents& contents);

 private:
  struct Reading {
    DepositContents contents;
    Share share;
  };
  using Key = std::pair<Account, const void*>;
  void Forget(const Key& key);

  Budget& budget_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Reading>> reading_;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
