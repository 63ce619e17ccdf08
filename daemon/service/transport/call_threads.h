// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Threads for calls that read and write disks as long as they last; who starts one bounds how many
/// there are. Thread-safe. The destructor waits for all.
class CallThreads {
 public:
  CallThreads() = default;
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  /// kOverloaded where no thread can be started: the work is not done then.
  [[nodiscard]] Status Run(std::function<void()> work);

 private:
  struct Thread {
    bool over = false;  ///< guarded by mutex_
    std::jthread thread;
  };

  std::mutex mutex_;
  std::list<Thread>
      threads_;  ///< guarded by mutex_; last: they use the mutex until they are joined
};

}  // namespace cccl_cache::daemon
