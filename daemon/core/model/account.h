// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/container_users.h"

namespace cccl_cache::daemon {

/// Returns whether this uid is a number that the daemon has assigned to a user of a container, or
/// to an account of such users (service/limits/containers.h). Such a number is never assigned twice
/// in one run of the daemon. In the next run it has no meaning.
[[nodiscard]] constexpr bool IsContainerUser(uid_t uid) {
  return uid >= kFirstContainerUser && uid != static_cast<uid_t>(-1);
}

/// The account that is charged for a user's resources: the user together with its subordinate uids.
/// All uids that belong to no known user share one account. Only limits depend on the account;
/// access always depends on the uid (docs/internals/decisions/0029). Copying is cheap.
class Account {
 public:
  /// Numbers of the control groups that contain a container, the outermost first. Zeros follow the
  /// last one. Groups below the eighth level are left out.
  using Way = std::array<uint64_t, 8>;

  constexpr explicit Account(uid_t uid) : number_(uid) {}
  constexpr Account(uid_t number, const Way& way) : number_(number), way_(way) {}
  /// Returns the single account of all uids that have no name and are no user's subordinate uids.
  static constexpr Account OfNameless() { return Account(static_cast<uid_t>(-1)); }

  /// Returns the shared account of container users without an account of their own.
  static constexpr Account OfUntoldContainers() { return {static_cast<uid_t>(-2), Way{1}}; }

  /// Returns whether this account is charged for users of containers. All such accounts together
  /// may hold at most half of every resource.
  [[nodiscard]] constexpr bool IsContainers() const { return IsContainerUser(number_); }
  /// Returns the numbers of the control groups that contain the container, the outermost first.
  /// Empty for other accounts.
  [[nodiscard]] std::span<const uint64_t> way() const {
    return std::span(way_).first(static_cast<size_t>(std::ranges::find(way_, 0) - way_.begin()));
  }
  /// Returns whether this is the account of root or of the daemon's own user. A part of every
  /// resource is reserved for these two.
  [[nodiscard]] bool privileged() const;
  /// Returns the displayed name: "user 1000", "container 3".
  [[nodiscard]] std::string Name() const;
  /// Returns the name in statistics: "1000", "container-3".
  [[nodiscard]] std::string Label() const;

  friend constexpr auto operator<=>(const Account& one, const Account& other) {
    return one.number_ <=> other.number_;
  }
  friend constexpr bool operator==(const Account& one, const Account& other) {
    return one.number_ == other.number_;
  }

 private:
  uid_t number_;
  Way way_ = {};
};

/// Returns whether any of the accounts is not charged for users of containers.
[[nodiscard]] inline bool AnyIsUser(std::span<const Account> accounts) {
  return !std::ranges::all_of(accounts, &Account::IsContainers);
}

/// How much of a resource all accounts together hold now.
struct HeldInAll {
  void Add(Account account, uint64_t amount) {
    in_all += amount;
    if (account.IsContainers()) in_containers += amount;
  }
  void Remove(Account account, uint64_t amount) {
    in_all -= amount;
    if (account.IsContainers()) in_containers -= amount;
  }

  uint64_t in_all = 0;
  uint64_t in_containers = 0;  ///< the part that accounts of containers hold
};

/// The limits of one resource that all accounts share. Root and the daemon's own user have one
/// sixteenth of it for themselves. Any other account may hold at most as much as it leaves free for
/// others, so that a new account always finds some. Containers together may hold at most half of
/// the resource, and each one may hold at most as much of that half as it leaves free.
struct Allowance {
  uint64_t per_account = 0;
  uint64_t in_all = 0;

  /// Returns how much this account may hold at most now. `mine` is what it holds already, and
  /// `held` is what all accounts hold.
  [[nodiscard]] uint64_t Most(Account account, uint64_t mine, const HeldInAll& held) const;
};

/// Returns the account of a uid that is known only from stored data. None if no account is known
/// for the uid now. Never blocks. May be called under any lock.
using FindAccount = std::function<std::optional<Account>(uid_t)>;

/// Counts how much of one resource each uid and each account uses. If the limits are exceeded,
/// selects the uid whose oldest entry must be evicted. Not thread-safe.
class AccountUsage {
 public:
  struct Limits {
    uint64_t per_account = 0;
    uint64_t in_all = 0;
  };

  /// If `find_account` is empty, a uid belongs to the account with which Set was last called.
  explicit AccountUsage(const Limits& limits, FindAccount find_account = {})
      : limits_(limits), find_account_(std::move(find_account)) {}

  /// Sets how much the uid uses now. From now on this is charged to `account`.
  void Set(uid_t uid, Account account, uint64_t amount);
  /// Like Set above, with the account that `find_account` returns. If it returns none, the uid
  /// keeps its present account, which is at first its own. So after a start, while accounts are
  /// still unknown, nothing is evicted because of that.
  void Set(uid_t uid, uint64_t amount) { Set(uid, AccountOf(uid), amount); }

  /// Sets the use of all uids to zero.
  void Clear();

  /// Looks up the accounts of the next 64 uids, because a uid may get another account while the
  /// daemon runs.
  void FindSomeAgain();
  /// Looks up the account of a uid that uses something. Returns whether it has changed.
  bool FindAgain(uid_t uid);

  [[nodiscard]] Account AccountOf(uid_t uid) const;
  [[nodiscard]] uint64_t Of(uid_t uid) const;
  [[nodiscard]] uint64_t Of(Account account) const;
  [[nodiscard]] uint64_t in_all() const { return held_.in_all; }

  /// Returns the uid that must release something so that the account may use `incoming` more. If
  /// the account is full, that is the uid with the largest use in this account. Otherwise it is the
  /// one in the account with the largest use; if containers would use more than half, only accounts
  /// of containers are considered. The returned uid's account was looked up again. Returns none if
  /// `incoming` fits, or if no uid uses anything.
  [[nodiscard]] std::optional<uid_t> MustGiveWay(Account account, uint64_t incoming);
  /// Returns the uid with the largest use in this account, other than `uid`. None if there is no
  /// other.
  [[nodiscard]] std::optional<uid_t> LargestBeside(Account account, uid_t uid) const;

 private:
  struct User {
    Account account;
    uint64_t amount;
  };
  [[nodiscard]] bool ContainersHoldTooMuch(Account account, uint64_t incoming) const;

  struct Share {
    uint64_t amount = 0;
    std::set<std::pair<uint64_t, uid_t>> smallest_first;  ///< pairs of use and uid; never empty
  };

  const Limits limits_;
  const FindAccount find_account_;
  std::map<uid_t, User> users_;  // only uids that use something
  std::map<Account, Share> shares_;
  HeldInAll held_;
  uid_t looked_up_to_ = 0;
};

/// The uid that the kernel reports for every user of another user namespace without a uid here.
/// Many people may have it, so nothing is kept or shared for it.
inline constexpr uid_t kOverflowUid = 65534;
/// The gid that the kernel reports for groups without a gid in this user namespace. Many groups may
/// have it, so nothing is shared with it.
inline constexpr gid_t kOverflowGid = 65534;

/// Which files the daemon may open by path on behalf of a peer. The daemon never decides this by a
/// client's claim without a proof (docs/internals/decisions/0066).
enum class FileReach : uint8_t {
  kNone,        ///< none: the peer's paths may lead to other files here, so the peer sends its
                ///< files
  kEverybodys,  ///< files that all users may read
  kDaemons,     ///< all files that the daemon may read
};

/// The client process of a connection, as the kernel described it when the connection began
/// (SO_PEERCRED, SO_PEERGROUPS).
struct Peer {
  uid_t uid = 0;  ///< for a user of a container, the number that the daemon has assigned
  gid_t gid = 0;
  std::vector<gid_t> groups;   ///< the supplementary groups, sorted
  pid_t pid = 0;               ///< only for logs and displays, because process ids are reused
  bool administrator = false;  ///< decided when the connection is accepted
                               ///< (service/limits/accounts.h)
  FileReach reach = FileReach::kEverybodys;  ///< reach of the present call: see daemons_rights.h
  std::optional<Account> counted_as = std::nullopt;  ///< the account that is charged; none: the
                                                     ///< account of `uid`

  [[nodiscard]] Account account() const { return counted_as.value_or(Account(uid)); }
};

}  // namespace cccl_cache::daemon
