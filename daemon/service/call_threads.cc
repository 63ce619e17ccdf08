// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/call_threads.h"

#include <utility>

namespace cccl_cached {

void CallThreads::Run(std::function<void()> work) {
  std::list<Thread> over;  // joined after the lock
  const std::lock_guard lock(mutex_);
  for (auto each = threads_.begin(); each != threads_.end();) {
    const auto next = std::next(each);
    if (each->over) over.splice(over.end(), threads_, each);
    each = next;
  }
  Thread& started = threads_.emplace_back();
  started.thread = std::jthread([this, &started, work = std::move(work)] {
    work();
    const std::lock_guard ended(mutex_);
    started.over = true;
  });
}

}  // namespace cccl_cached
