// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/account_usage.h"

#include <algorithm>

namespace cccl_cached {
namespace {

/// One account may have 65,536 uids, and others wait meanwhile.
constexpr int kLookedUpAtOnce = 64;

}  // namespace

void AccountUsage::Set(uid_t uid, Account account, uint64_t amount) {
  if (const auto user = users_.find(uid); user != users_.end()) {
    const auto share = shares_.find(user->second.account);
    share->second.amount -= user->second.amount;
    in_all_ -= user->second.amount;
    share->second.smallest_first.erase({user->second.amount, uid});
    if (share->second.smallest_first.empty()) shares_.erase(share);
    users_.erase(user);
  }
  if (amount == 0) return;
  users_.insert_or_assign(uid, User{account, amount});
  Share& share = shares_[account];
  share.amount += amount;
  share.smallest_first.insert({amount, uid});
  in_all_ += amount;
}

Account AccountUsage::AccountOf(uid_t uid) const {
  if (find_account_) {
    if (const auto found = find_account_(uid)) return *found;
  }
  const auto user = users_.find(uid);
  return user == users_.end() ? Account(uid) : user->second.account;
}

uint64_t AccountUsage::Of(uid_t uid) const {
  const auto user = users_.find(uid);
  return user == users_.end() ? 0 : user->second.amount;
}

uint64_t AccountUsage::Of(Account account) const {
  const auto share = shares_.find(account);
  return share == shares_.end() ? 0 : share->second.amount;
}

std::optional<uid_t> AccountUsage::MustGiveWay(Account account, uint64_t incoming) {
  const auto own_is_full = [&] { return Of(account) + incoming > limits_.per_account; };
  if (!own_is_full() && in_all_ + incoming <= limits_.in_all) return std::nullopt;
  FindSomeAgain();
  auto share = shares_.find(account);
  if (!own_is_full()) {
    share =
        std::ranges::max_element(shares_, {}, [](const auto& each) { return each.second.amount; });
  }
  if (share == shares_.end()) return std::nullopt;
  return share->second.smallest_first.rbegin()->second;
}

std::optional<uid_t> AccountUsage::LargestBeside(Account account, uid_t uid) const {
  const auto share = shares_.find(account);
  if (share == shares_.end()) return std::nullopt;
  const auto& smallest_first = share->second.smallest_first;
  const auto other = std::find_if(smallest_first.rbegin(), smallest_first.rend(),
                                  [uid](const auto& each) { return each.second != uid; });
  return other == smallest_first.rend() ? std::nullopt : std::optional(other->second);
}

void AccountUsage::FindSomeAgain() {
  if (!find_account_) return;
  for (int i = 0; i < kLookedUpAtOnce && !users_.empty(); ++i) {
    auto user = users_.upper_bound(looked_up_to_);
    if (user == users_.end()) user = users_.begin();
    looked_up_to_ = user->first;
    const Account account = AccountOf(looked_up_to_);
    if (account != user->second.account) Set(looked_up_to_, account, user->second.amount);
  }
}

}  // namespace cccl_cached
