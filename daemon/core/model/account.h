// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace cccl_cache::daemon {

/// On whose account resources are counted: a user together with its subordinate uids, or all uids
/// that belong to no user. What a uid may see is decided by the uid itself and never by this
/// (docs/internals/decisions/0029). A plain value.
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

/// On whose account a uid is counted that is known from a stored row only. None: not known yet.
/// Never blocks; may be called under any lock.
using FindAccount = std::function<std::optional<Account>(uid_t)>;

/// How much of one resource each uid holds, and the uids of each account together; says whose
/// oldest must go when it gets too much. Not thread-safe.
class AccountUsage {
 public:
  struct Limits {
    uint64_t per_account = 0;
    uint64_t in_all = 0;
  };

  /// `find_account` may be empty: then accounts are those that Set was given last.
  explicit AccountUsage(const Limits& limits, FindAccount find_account = {})
      : limits_(limits), find_account_(std::move(find_account)) {}

  /// All that the uid holds now. It counts for this account from now on.
  void Set(uid_t uid, Account account, uint64_t amount);
  /// The same for the account that is found. As long as none is, a uid counts as it did before, at
  /// first as itself: so a start throws away nothing because names are not known yet.
  void Set(uid_t uid, uint64_t amount) { Set(uid, AccountOf(uid), amount); }

  /// Nobody holds anything.
  void Clear();

  /// Finds the accounts of the next few uids again, for what is known of them changes while the
  /// daemon runs.
  void FindSomeAgain();
  /// Finds the account of a uid that holds something again. Whether it is another one now.
  bool FindAgain(uid_t uid);

  [[nodiscard]] Account AccountOf(uid_t uid) const;
  [[nodiscard]] uint64_t Of(uid_t uid) const;
  [[nodiscard]] uint64_t Of(Account account) const;
  [[nodiscard]] uint64_t in_all() const { return in_all_; }

  /// Which uid must give up something so that `incoming` more fit for the account: the one of the
  /// account that holds most, or the one that holds most of the account that does. Its account was
  /// found again. None: they fit, or nobody holds anything.
  [[nodiscard]] std::optional<uid_t> MustGiveWay(Account account, uint64_t incoming);
  /// The uid of this account that holds most, but for this one.
  [[nodiscard]] std::optional<uid_t> LargestBeside(Account account, uid_t uid) const;

 private:
  struct User {
    Account account;
    uint64_t amount;
  };
  struct Share {
    uint64_t amount = 0;
    std::set<std::pair<uint64_t, uid_t>> smallest_first;  ///< never empty
  };

  const Limits limits_;
  const FindAccount find_account_;
  std::map<uid_t, User> users_;  // who holds anything
  std::map<Account, Share> shares_;
  uint64_t in_all_ = 0;
  uid_t looked_up_to_ = 0;
};

}  // namespace cccl_cache::daemon
