// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <thread>

#include "base/mutex.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Threads for calls that read and write disks for as long as they last. The callers bound the
/// number of threads. Thread-safe. The destructor waits for all threads.
class CallThreads {
 public:
  CallThreads() = default;
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  /// Runs the work on a thread. kOverloaded: no thread could be started, and the work is not done.
  [[nodiscard]] Status Run(std::function<void()> work);

 private:
  struct Thread {
    bool over = false;  ///< guarded by mutex_, as the list
    std::jthread thread;
  };

  Mutex mutex_;
  /// The last member, because the threads use the mutex until they are joined.
  std::list<Thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
