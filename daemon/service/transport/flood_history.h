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

/// Has the traffic of each user, and refuses new connections for a while: of users that connect too
/// often, and of uids whose connections are cut off repeatedly (guarded_sockets.h). Such a uid
/// pauses for 1 s after the fourth cut-off, then for twice as long each time, up to 64 s. An
/// account may serve many people (decision 29), so the whole account pauses only if many of its
/// uids were cut off. The history expires two minutes after the last cut-off. Not thread-safe.
class FloodHistory {
 public:
  using Clock = std::chrono::steady_clock;

  FloodHistory(const TrafficLimits& limits, std::function<Clock::time_point()> now)
      : limits_(limits), now_(std::move(now)) {}

  /// Returns the traffic object for a new connection of this user. Null if the user must not
  /// connect yet.
  [[nodiscard]] std::shared_ptr<UserTraffic> Admit(Account account, uid_t uid);
  /// Records that a connection of this user was cut off.
  void NoteCutOff(Account account, uid_t uid);
  /// Drops expired entries. Must be called every few seconds.
  void Forget();

 private:
  struct CutOffs {
    unsigned count = 0;
    Clock::time_point last;
  };
  struct User {
    CutOffs in_all;
    std::map<uid_t, CutOffs> of_uids;  ///< bounded
    std::shared_ptr<UserTraffic> traffic;
  };

  static void Add(CutOffs& cut_offs, Clock::time_point now);
  [[nodiscard]] static bool MustPause(const CutOffs& cut_offs, Clock::time_point now);

  const TrafficLimits limits_;
  const std::function<Clock::time_point()> now_;
  std::map<Account, User> users_;
};

}  // namespace cccl_cache::daemon
