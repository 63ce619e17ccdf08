// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/database_slot.h"

#include <cassert>
#include <utility>

namespace cccl_cache::daemon {

std::shared_ptr<Database> DatabaseSlot::Get() const {
  const std::lock_guard lock(mutex_);
  return database_;
}

void DatabaseSlot::Set(std::unique_ptr<Database> database) {
  const auto close = [this](Database* last) {
    delete last;
    // Notified under the lock: after it, Close may return and the slot be gone.
    const std::lock_guard lock(mutex_);
    open_ = false;
    closed_.notify_all();
  };
  const std::lock_guard lock(mutex_);
  assert(!open_);
  open_ = true;
  database_ = std::shared_ptr<Database>(database.release(), close);
}

void DatabaseSlot::Close() {
  std::shared_ptr<Database> last;
  {
    const std::lock_guard lock(mutex_);
    last = std::exchange(database_, nullptr);
  }
  last.reset();
  std::unique_lock lock(mutex_);
  closed_.wait(lock, [this] { return !open_; });
}

}  // namespace cccl_cache::daemon
