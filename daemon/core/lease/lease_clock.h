// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "daemon/core/lease/lease_table.h"

namespace cccl_cache::daemon {

/// The one thread that tells a table of leases that time has passed; it sleeps until something is
/// due. Thread-safe. The table must outlive it.
class LeaseClock {
 public:
  explicit LeaseClock(LeaseTable& table)
      : table_(table), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  /// Something is due earlier than it was.
  void Wake();

 private:
  void Run(const std::stop_token& stop);

  LeaseTable& table_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool woken_ = false;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace cccl_cache::daemon
