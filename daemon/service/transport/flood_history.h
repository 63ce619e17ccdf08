// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "daemon/core/model/account.h"
#include "daemon/service/transport/frame_rules.h"

namespace cccl_cache::daemon {

/// Keeps the traffic of each account, and refuses new connections in two cases. First, the account
/// connects too often. Second, connections of the uid were cut off repeatedly (guarded_sockets.h):
/// the uid pauses for 1 s after the fourth cut-off, and twice as long after each further one, up to
/// 64 s. The whole account pauses only if many of its uids were cut off, because an account may
/// serve many people (docs/internals/decisions/0029). Cut-offs are forgotten two minutes after the
/// last one. Not thread-safe.
class FloodHistory {
 public:
  using Clock = std::chrono::steady_clock;

  FloodHistory(const TrafficLimits& limits, std::function<Clock::time_point()> now)
      : limits_(limits), now_(std::move(now)) {}

  /// Returns the traffic of the account for a new connection of the uid. Returns null if the
  /// connection must be refused now.
  [[nodiscard]] std::shared_ptr<UserTraffic> Admit(Account account, uid_t uid);
  /// Records that a connection of this uid was cut off because it broke a rule.
  void NoteCutOff(Account account, uid_t uid);
  /// Drops cut-offs that have expired, and accounts without any. Must be called every few seconds.
  void Forget();

 private:
  struct CutOffs {
    unsigned count = 0;
    Clock::time_point last;
  };
  struct User {
    CutOffs in_all;
    std::map<uid_t, CutOffs> of_uids;  ///< at most kManyUids
    std::shared_ptr<UserTraffic> traffic;
  };

  static void Add(CutOffs& cut_offs, Clock::time_point now);
  [[nodiscard]] static bool MustPause(const CutOffs& cut_offs, Clock::time_point now);

  const TrafficLimits limits_;
  const std::function<Clock::time_point()> now_;
  std::map<Account, User> users_;
};

}  // namespace cccl_cache::daemon
