// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "daemon/core/model/token_bucket.h"
#include "daemon/process/log.h"

namespace cccl_cache::daemon {

/// Warnings of one kind that a client can cause any number of: ten at once and ten a minute are
/// written. The next one that is written says how many were left out. Thread-safe; the log must
/// outlive it.
class LimitedLog {
 public:
  using Clock = TokenBucket::Clock;

  LimitedLog(Log& log, std::string event, std::function<Clock::time_point()> now = Clock::now);

  void Write(std::string_view message);

 private:
  Log& log_;
  const std::string event_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  TokenBucket allowed_;   // guarded by mutex_
  int64_t left_out_ = 0;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
