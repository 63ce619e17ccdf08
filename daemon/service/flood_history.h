// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "daemon/core/account.h"
#include "daemon/service/frame_rules.h"

namespace cccl_cached {

/// What each user's connections may cancel together, and which users may not connect for a while
/// because their connections are cut off again and again (guarded_sockets.h): a pause of a second
/// after the fourth time, then twice as long each time, at most 64 s. Forgotten two minutes after
/// the last time. Not thread-safe.
class FloodHistory {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FloodHistory(std::function<Clock::time_point()> now) : now_(std::move(now)) {}

  /// For a new connection of this user; null: the user must not connect yet.
  [[nodiscard]] std::shared_ptr<Cancellations> Admit(Account account);
  /// A connection of this user was cut off.
  void NoteCutOff(Account account);
  /// Drops what is out of date. To be called every few seconds.
  void Forget();

 private:
  struct User {
    unsigned cut_offs = 0;
    Clock::time_point last_cut_off;
    std::shared_ptr<Cancellations> cancellations;
  };

  const std::function<Clock::time_point()> now_;
  std::map<Account, User> users_;
};

}  // namespace cccl_cached
