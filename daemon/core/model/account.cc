// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/account.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kReservedPart = 16;
/// Smallest total of which a part is reserved.
constexpr uint64_t kLeastShared = 4;

uint64_t Reserve(uint64_t in_all) {
  return in_all < kLeastShared ? 0 : std::max<uint64_t>(in_all / kReservedPart, 1);
}

uint64_t PartOfContainers(uint64_t in_all) { return std::max<uint64_t>(in_all / 2, 1); }

uint64_t Rest(uint64_t room, uint64_t used) { return room > used ? room - used : 0; }

/// Maximum number of uids that one call of FindSomeAgain looks up. One account may have 65,536
/// uids, and other threads wait during the call.
constexpr size_t kLookedUpAtOnce = 64;

}  // namespace

bool Account::privileged() const {
  static const uid_t own = geteuid();
  return number_ == 0 || (number_ == own && !IsContainers());
}

std::string Account::Name() const {
  if (*this == OfNameless()) return "the uids without a name";
  if (*this == OfUntoldContainers()) return "containers without an account of their own";
  return IsContainers() ? fmt::format("container {}", number_ - kFirstContainerUser)
                        : fmt::format("user {}", number_);
}

std::string Account::Label() const {
  if (*this == OfNameless()) return "nameless";
  if (*this == OfUntoldContainers()) return "containers";
  return IsContainers() ? fmt::format("container-{}", number_ - kFirstContainerUser)
                        : std::to_string(number_);
}

uint64_t Allowance::Most(Account account, uint64_t mine, const HeldInAll& held) const {
  const uint64_t room = account.privileged() ? in_all : in_all - Reserve(in_all);
  uint64_t free = Rest(room, held.in_all);
  if (account.IsContainers()) {
    free = std::min(free, Rest(PartOfContainers(in_all), held.in_containers));
  }
  return std::min(per_account, account.privileged() ? mine + free : std::max(mine, free));
}

void AccountUsage::Set(uid_t uid, Account account, uint64_t amount) {
  if (const auto user = users_.find(uid); user != users_.end()) {
    const auto share = shares_.find(user->second.account);
    share->second.amount -= user->second.amount;
    held_.Remove(user->second.account, user->second.amount);
    share->second.smallest_first.erase({user->second.amount, uid});
    if (share->second.smallest_first.empty()) shares_.erase(share);
    users_.erase(user);
  }
  if (amount == 0) return;
  users_.insert_or_assign(uid, User{account, amount});
  Share& share = shares_[account];
  share.amount += amount;
  share.smallest_first.insert({amount, uid});
  held_.Add(account, amount);
}

void AccountUsage::Clear() {
  users_.clear();
  shares_.clear();
  held_ = {};
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
  while (true) {
    const bool own_is_full = Of(account) + incoming > limits_.per_account;
    if (!own_is_full && held_.in_all + incoming <= limits_.in_all) return std::nullopt;
    const bool of_containers = ContainersHoldTooMuch(account, incoming);
    const auto share =
        own_is_full
            ? shares_.find(account)
            : std::ranges::max_element(shares_, {}, [of_containers](const auto& each) {
                return std::pair(each.first.IsContainers() && of_containers, each.second.amount);
              });
    if (share == shares_.end()) return std::nullopt;
    const uid_t loser = share->second.smallest_first.rbegin()->second;
    if (!FindAgain(loser)) return loser;
  }
}

bool AccountUsage::ContainersHoldTooMuch(Account account, uint64_t incoming) const {
  const uint64_t more = account.IsContainers() ? incoming : 0;
  return held_.in_containers + more > limits_.in_all / 2;
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
  for (size_t left = std::min(kLookedUpAtOnce, users_.size()); left > 0; --left) {
    auto user = users_.upper_bound(looked_up_to_);
    if (user == users_.end()) user = users_.begin();
    looked_up_to_ = user->first;
    FindAgain(looked_up_to_);
  }
}

bool AccountUsage::FindAgain(uid_t uid) {
  const User user = users_.at(uid);
  const Account account = AccountOf(uid);
  if (account == user.account) return false;
  Set(uid, account, user.amount);
  return true;
}

}  // namespace cccl_cache::daemon
