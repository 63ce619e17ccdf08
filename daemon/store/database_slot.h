// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "daemon/store/database.h"

namespace cccl_cache::daemon {

/// The place where readers find the database, which the writer may have to close and open anew
/// while they run. Thread-safe.
class DatabaseSlot {
 public:
  DatabaseSlot() = default;
  ~DatabaseSlot() { Close(); }
  DatabaseSlot(const DatabaseSlot&) = delete;
  DatabaseSlot& operator=(const DatabaseSlot&) = delete;

  /// Null while there is none. Holding it keeps it open: for one operation only.
  [[nodiscard]] std::shared_ptr<Database> Get() const;
  /// The slot must be empty.
  void Set(std::unique_ptr<Database> database);
  /// Empties the slot and returns when the last reader has let go and the database is closed.
  void Close();

 private:
  mutable std::mutex mutex_;
  std::condition_variable closed_;
  std::shared_ptr<Database> database_;  ///< guarded by mutex_
  bool open_ = false;                   ///< until the database is destroyed; guarded by mutex_
};

}  // namespace cccl_cache::daemon
