// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>

#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// How many users may be at some work at once: each user one at a time, and each in turn, so that
/// none is kept out by others who come again and again. Thread-safe; must outlive what it gave.
class Places {
 public:
  explicit Places(size_t count) : count_(count) {}

  /// Waits for a place behind those who waited before; it is given back when the last copy goes.
  /// kOverloaded: this user waits for one already; kCancelled: the caller left.
  [[nodiscard]] Result<std::shared_ptr<void>> Take(Account account, const std::stop_token& left);

 private:
  [[nodiscard]] bool IsNext(Account account) const;
  void GiveBack(Account account);

  const size_t count_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Account> waiting_;  ///< in order, each once; guarded by mutex_, like the other
  std::set<Account> inside_;
};

}  // namespace cccl_cache::daemon
