// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/flood_history.h"

#include <algorithm>

namespace cccl_cache::daemon {
namespace {

constexpr unsigned kWithoutPause = 3;
constexpr unsigned kMaxDoublings = 6;
constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kRemembered{120};
/// An account pauses as a whole if connections of this many of its uids were cut off recently.
constexpr size_t kManyUids = 8;

}  // namespace

void FloodHistory::Add(CutOffs& cut_offs, Clock::time_point now) {
  if (now - cut_offs.last >= kRemembered) cut_offs.count = 0;
  ++cut_offs.count;
  cut_offs.last = now;
}

bool FloodHistory::MustPause(const CutOffs& cut_offs, Clock::time_point now) {
  if (cut_offs.count <= kWithoutPause) return false;
  const unsigned doublings = std::min(cut_offs.count - kWithoutPause - 1, kMaxDoublings);
  return now - cut_offs.last < kFirstPause * (1u << doublings);
}

std::shared_ptr<UserTraffic> FloodHistory::Admit(Account account, uid_t uid) {
  const auto now = now_();
  User& user = users_[account];
  const auto of_uid = user.of_uids.find(uid);
  if (of_uid != user.of_uids.end() && MustPause(of_uid->second, now)) return nullptr;
  if (user.of_uids.size() >= kManyUids && MustPause(user.in_all, now)) return nullptr;
  if (user.traffic == nullptr) user.traffic = std::make_shared<UserTraffic>(limits_, now);
  return user.traffic->Connect(now) ? user.traffic : nullptr;
}

void FloodHistory::NoteCutOff(Account account, uid_t uid) {
  const auto now = now_();
  User& user = users_[account];
  Add(user.in_all, now);
  if (user.of_uids.size() < kManyUids || user.of_uids.contains(uid)) Add(user.of_uids[uid], now);
}

void FloodHistory::Forget() {
  const auto is_old = [now = now_()](const CutOffs& cut_offs) {
    return now - cut_offs.last >= kRemembered;
  };
  for (auto& [account, user] : users_) {
    std::erase_if(user.of_uids, [&](const auto& entry) { return is_old(entry.second); });
  }
  std::erase_if(users_, [&](const auto& entry) {
    const User& user = entry.second;
    return user.traffic.use_count() <= 1 && is_old(user.in_all);
  });
}

}  // namespace cccl_cache::daemon
