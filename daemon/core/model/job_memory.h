// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>

#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The memory that compiles make the daemon hold for each user: replies of workers until they are
/// kept and answered, and large files until they are handed over. Thread-safe.
class JobMemory : public std::enable_shared_from_this<JobMemory> {
 public:
  using Clock = std::chrono::steady_clock;
  /// The bytes are given back when the last copy is gone.
  using Share = std::shared_ptr<const void>;

  /// Bytes.
  [[nodiscard]] static std::shared_ptr<JobMemory> Make(const Allowance& allowance) {
    return std::shared_ptr<JobMemory>(new JobMemory(allowance));
  }

  /// Blocks until there is room; one user's calls are served in order. kOutOfMemory: more than one
  /// user may have. kTimedOut, kCancelled: by the deadline, or a stop, there was none.
  [[nodiscard]] Result<Share> Take(Account account, uint64_t bytes,
                                   Clock::time_point deadline = Clock::time_point::max(),
                                   const std::stop_token& stop = {});
  /// What all users hold now.
  [[nodiscard]] uint64_t used() const;

 private:
  struct User {
    uint64_t held = 0;
    std::list<uint64_t> line;  ///< bytes that its callers wait for
  };
  using Users = std::map<Account, User>;

  explicit JobMemory(const Allowance& allowance) : allowance_(allowance) {}

  /// Needs mutex_.
  [[nodiscard]] bool Fits(const Users::value_type& user, uint64_t bytes) const;
  /// Needs mutex_.
  void Forget(Users::iterator user);
  void Give(Account account, uint64_t bytes);

  const Allowance allowance_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Users users_;        // guarded by mutex_; only who holds something or waits
  uint64_t held_ = 0;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
