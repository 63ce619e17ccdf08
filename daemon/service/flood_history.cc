// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/flood_history.h"

#include <algorithm>

namespace cccl_cached {
namespace {

constexpr unsigned kWithoutPause = 3;
constexpr unsigned kMaxDoublings = 6;
constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kRemembered{120};

}  // namespace

std::shared_ptr<Cancellations> FloodHistory::Admit(Account account) {
  const auto now = now_();
  User& user = users_[account];
  if (user.cut_offs > kWithoutPause) {
    const unsigned doublings = std::min(user.cut_offs - kWithoutPause - 1, kMaxDoublings);
    if (now - user.last_cut_off < kFirstPause * (1u << doublings)) return nullptr;
  }
  if (user.cancellations == nullptr) user.cancellations = std::make_shared<Cancellations>(now);
  return user.cancellations;
}

void FloodHistory::NoteCutOff(Account account) {
  User& user = users_[account];
  const auto now = now_();
  if (now - user.last_cut_off >= kRemembered) user.cut_offs = 0;
  ++user.cut_offs;
  user.last_cut_off = now;
}

void FloodHistory::Forget() {
  std::erase_if(users_, [now = now_()](const auto& entry) {
    const User& user = entry.second;
    return user.cancellations.use_count() <= 1 && now - user.last_cut_off >= kRemembered;
  });
}

}  // namespace cccl_cached
