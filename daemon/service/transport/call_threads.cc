// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/call_threads.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace cccl_cache::daemon {

Status CallThreads::Run(std::function<void()> work) {
  std::list<Thread> over;  // joined after the lock is released
  const MutexLock lock(mutex_);
  for (auto each = threads_.begin(); each != threads_.end();) {
    const auto next = std::next(each);
    if (each->over) over.splice(over.end(), threads_, each);
    each = next;
  }
  Thread& started = threads_.emplace_back();
  try {
    started.thread = std::jthread([this, &started, work = std::move(work)] {
      work();
      const MutexLock ended(mutex_);
      started.over = true;
    });
  } catch (const std::system_error& error) {
    threads_.pop_back();
    return Error{ErrorCode::kOverloaded, fmt::format("can't start a thread: {}", error.what())};
  }
  return Ok{};
}

}  // namespace cccl_cache::daemon
