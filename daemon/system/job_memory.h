// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <stop_token>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Limits the memory that the compiles of each user take in the daemon. It is for replies of
/// workers until they are stored and answered, and for large files until the worker has them.
/// Thread-safe.
class JobMemory : public std::enable_shared_from_this<JobMemory> {
 public:
  using Clock = std::chrono::steady_clock;
  /// Some bytes that a user holds. They are released when the last copy of the pointer is
  /// destroyed.
  using Share = std::shared_ptr<const void>;

  /// `allowance` has the limits in bytes.
  [[nodiscard]] static std::shared_ptr<JobMemory> Make(const Allowance& allowance) {
    return std::shared_ptr<JobMemory>(new JobMemory(allowance));
  }

  /// Waits until the user may hold this many more bytes. The calls of one user are served in order.
  /// kOutOfMemory: `bytes` is more than one user may ever hold. kTimedOut: the deadline has passed.
  /// kCancelled: `stop` was requested.
  [[nodiscard]] Result<Share> Take(Account account, uint64_t bytes,
                                   Clock::time_point deadline = Clock::time_point::max(),
                                   const std::stop_token& stop = {});
  /// Returns the bytes that all users hold now.
  [[nodiscard]] uint64_t used() const;

 private:
  struct User {
    uint64_t held = 0;
    std::list<uint64_t> line;  ///< the bytes that each waiting call wants, in order of arrival
  };
  using Users = std::map<Account, User>;

  explicit JobMemory(const Allowance& allowance) : allowance_(allowance) {}

  [[nodiscard]] bool Fits(const Users::value_type& user, uint64_t bytes) const REQUIRES(mutex_);
  void Forget(Users::iterator user) REQUIRES(mutex_);
  void Give(Account account, uint64_t bytes);

  const Allowance allowance_;
  mutable Mutex mutex_;
  CondVar changed_;
  Users users_ GUARDED_BY(mutex_);  // only users that hold bytes or wait
  HeldInAll held_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
