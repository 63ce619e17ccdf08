// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/user_traffic.h"

namespace cccl_cache::daemon {

bool UserTraffic::Connect(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return cancelled_.HasAny(now) && connections_.Take(now);
}

bool UserTraffic::OpenCall() {
  const std::lock_guard lock(mutex_);
  if (open_calls_ >= limits_.open_calls) return false;
  ++open_calls_;
  return true;
}

void UserTraffic::CloseCall() {
  const std::lock_guard lock(mutex_);
  --open_calls_;
}

void UserTraffic::DropCalls(size_t calls, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  open_calls_ -= calls;
  cancelled_.Charge(static_cast<double>(calls), now);
}

}  // namespace cccl_cache::daemon
