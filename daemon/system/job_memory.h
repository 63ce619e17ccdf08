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

/// Limits the memory that compiles hold in the daemon for each user: workers' replies until they
/// are stored and answered, and large files until the worker has them. Thread-safe.
class JobMemory : public std::enable_shared_from_this<JobMemory> {
 public:
  using Clock = std::chrono::steady_clock;
  /// Holds memory, which is released when the last copy is destroyed.
  using Share = std::shared_ptr<const void>;

  /// `allowance`: in bytes.
  [[nodiscard]] static std::shared_ptr<JobMemory> Make(const Allowance& allowance) {
    return std::shared_ptr<JobMemory>(new JobMemory(allowance));
  }

  /// Blocks until the memory is free. The calls of one user are served in order. kOutOfMemory:
  /// `bytes` is more than one user may hold. kTimedOut: no memory by the deadline. kCancelled:
  /// `stop` was requested first.
  [[nodiscard]] Result<Share> Take(Account account, uint64_t bytes,
                                   Clock::time_point deadline = Clock::time_point::max(),
                                   const std::stop_token& stop = {});
  /// Returns the bytes that all users hold now.
  [[nodiscard]] uint64_t used() const;

 private:
  struct User {
    uint64_t held = 0;
    std::list<uint64_t> line;  ///< wanted bytes of each waiting caller, in order
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
