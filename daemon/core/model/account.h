// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>

namespace cccl_cache::daemon {

/// On whose account resources are counted: a user together with its subordinate uids, or all uids
/// that belong to no user. What a uid may see is decided by the uid itself and never by this
/// (docs/decisions/0029). A plain value.
class Account {
 public:
  constexpr explicit Account(uid_t uid) : number_(uid) {}
  /// Of all uids together that have no name and are no user's subordinate uids.
  static constexpr Account OfNameless() { return Account(static_cast<uid_t>(-1)); }

  /// Root's and the daemon's own: a part of everything is kept for them.
  [[nodiscard]] bool privileged() const;
  /// For people: "user 1000".
  [[nodiscard]] std::string Name() const;

  friend constexpr auto operator<=>(Account, Account) = default;

 private:
  uid_t number_;
};

/// How much one account may hold of what all accounts share. A sixteenth is kept for root and the
/// daemon's own user. Any other account holds at most as much as it leaves free, so that a newcomer
/// finds something.
struct Allowance {
  uint64_t per_account = 0;
  uint64_t in_all = 0;

  /// The most that this account may hold now, if it holds `mine` and all accounts hold `used`.
  [[nodiscard]] uint64_t Most(Account account, uint64_t mine, uint64_t used) const;
};

}  // namespace cccl_cache::daemon
