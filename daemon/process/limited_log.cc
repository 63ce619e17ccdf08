// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/limited_log.h"

#include <utility>

namespace cccl_cache::daemon {
namespace {

constexpr double kLinesAtOnce = 10;
constexpr double kLinesPerSecond = 10.0 / 60;

}  // namespace

LimitedLog::LimitedLog(Log& log, std::string event, std::function<Clock::time_point()> now)
    : log_(log),
      event_(std::move(event)),
      now_(std::move(now)),
      allowed_(kLinesAtOnce, kLinesPerSecond, now_()) {}

void LimitedLog::Write(std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (!allowed_.Take(now_())) {
    ++left_out_;
    return;
  }
  if (left_out_ == 0) {
    log_.Write(LogLevel::kWarning, event_, message);
  } else {
    log_.Write(LogLevel::kWarning, event_, message, {{"left_out", left_out_}});
  }
  left_out_ = 0;
}

}  // namespace cccl_cache::daemon
