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

/// Returns whether the number identifies a user of a container, or an account of such users
/// (service/limits/containers.h). Such numbers are never reused in a run of the daemon, and have no
/// meaning in the next run.
[[nodiscard]] constexpr bool IsContainerUser(uid_t uid) {
  return uid >= kFirstContainerUser && uid != static_cast<uid_t>(-1);
}

/// The account that is charged for resources: a user together with its subordinate uids, or all
/// uids without a user. Access depends on the uid, never on the account
/// (docs/internals/decisions/0029). A plain value.
class Account {
 public:
  /// The control groups on the way to that of a container as numbers, the outermost first, with
  /// zeros after the last. Deeper groups are left out.
  using Way = std::array<uint64_t, 8>;

  constexpr explicit Account(uid_t uid) : number_(uid) {}
  constexpr Account(uid_t number, const Way& way) : number_(number), way_(way) {}
  /// Returns the single account of all uids that have no name and are no user's subordinate uids.
  static constexpr Account OfNameless() { return Account(static_cast<uid_t>(-1)); }

  /// Returns the shared account of container users without an account of their own.
  static constexpr Account OfUntoldContainers() { return {static_cast<uid_t>(-2), Way{1}}; }

  /// Returns whether users of containers count for this account. All such accounts together get at
  /// most a half of every resource.
  [[nodiscard]] constexpr bool IsContainers() const { return IsContainerUser(number_); }
  /// Returns the way to a container's control group without zeros; empty for other accounts.
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

/// The amount of a resource that all accounts hold. A plain value.
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

/// The amount that one account may hold of a resource that all accounts share. A sixteenth is
/// reserved for root and the daemon's own user. Any other account holds at most as much as it
/// leaves free, so that later accounts find some. Containers together hold at most a half, and each
/// leaves as much of it free as it holds.
struct Allowance {
  uint64_t per_account = 0;
  uint64_t in_all = 0;

  /// Returns the most that this account may hold now, if it holds `mine` and all accounts hold
  /// `held`.
  [[nodiscard]] uint64_t Most(Account account, uint64_t mine, const HeldInAll& held) const;
};

/// Finds the account of a uid that only a stored row names. Returns none if the account is not
/// known yet, or not known any more. Never blocks; may be called under any lock.
using FindAccount = std::function<std::optional<Account>(uid_t)>;

/// Counts the use of one resource by uid and by account. Returns the uid whose oldest entry must be
/// evicted if the use is too large. Not thread-safe.
class AccountUsage {
 public:
  struct Limits {
    uint64_t per_account = 0;
    uint64_t in_all = 0;
  };

  /// `find_account` may be empty: the account of a uid is then that of the last Set.
  explicit AccountUsage(const Limits& limits, FindAccount find_account = {})
      : limits_(limits), find_account_(std::move(find_account)) {}

  /// Sets the amount that the uid holds now. From now on the uid counts for this account.
  void Set(uid_t uid, Account account, uint64_t amount);
  /// The same for the account that `find_account` returns. While it returns none, a uid keeps its
  /// account, which is initially one of its own. A start of the daemon thus evicts nothing because
  /// of unknown names.
  void Set(uid_t uid, uint64_t amount) { Set(uid, AccountOf(uid), amount); }

  /// Sets every uid's amount to zero.
  void Clear();

  /// Looks up the accounts of the next uids again (at most 64), because they may change while the
  /// daemon runs.
  void FindSomeAgain();
  /// Looks up the account of a uid with any amount again. Returns whether the account has changed.
  bool FindAgain(uid_t uid);

  [[nodiscard]] Account AccountOf(uid_t uid) const;
  [[nodiscard]] uint64_t Of(uid_t uid) const;
  [[nodiscard]] uint64_t Of(Account account) const;
  [[nodiscard]] uint64_t in_all() const { return held_.in_all; }

  /// Returns the uid that must release some of its amount so that `incoming` more fits for the
  /// account. If the account is full, it is the account's largest uid. Otherwise it is the largest
  /// uid of the largest account (among accounts of containers if these would hold more than a half
  /// together). The account of the returned uid was looked up again. None if `incoming` fits, or if
  /// no uid holds anything.
  [[nodiscard]] std::optional<uid_t> MustGiveWay(Account account, uint64_t incoming);
  /// Returns the uid of this account with the largest amount, except `uid`, or none.
  [[nodiscard]] std::optional<uid_t> LargestBeside(Account account, uid_t uid) const;

 private:
  struct User {
    Account account;
    uint64_t amount;
  };
  [[nodiscard]] bool ContainersHoldTooMuch(Account account, uint64_t incoming) const;

  struct Share {
    uint64_t amount = 0;
    std::set<std::pair<uint64_t, uid_t>> smallest_first;  ///< never empty
  };

  const Limits limits_;
  const FindAccount find_account_;
  std::map<uid_t, User> users_;  // uids with any amount
  std::map<Account, Share> shares_;
  HeldInAll held_;
  uid_t looked_up_to_ = 0;
};

/// The uid that the kernel reports for every user of another user namespace without a uid here.
/// Many people may have it, so nothing is kept or shared for it.
inline constexpr uid_t kOverflowUid = 65534;
/// The same for groups. Nothing is shared with this group.
inline constexpr gid_t kOverflowGid = 65534;

/// The files that the daemon may open by path for a peer. A client's claim without a proof never
/// decides this (docs/internals/decisions/0066).
enum class FileReach : uint8_t {
  kNone,        ///< no files: the peer's paths lead to other files, so it sends its files
  kEverybodys,  ///< files that all users may read
  kDaemons,     ///< all files that the daemon may read
};

/// The client of a connection, as the kernel described it at connect time (SO_PEERCRED,
/// SO_PEERGROUPS).
struct Peer {
  uid_t uid = 0;  ///< the assigned number of a container's user
  gid_t gid = 0;
  std::vector<gid_t> groups;   ///< supplementary, sorted
  pid_t pid = 0;               ///< for logs and views only: pids are reused, so no decision uses it
  bool administrator = false;  ///< set at accept (service/limits/accounts.h)
  FileReach reach = FileReach::kEverybodys;  ///< of each call (service/limits/daemons_rights.h)
  std::optional<Account> counted_as = std::nullopt;  ///< none for the uid's own account

  [[nodiscard]] Account account() const { return counted_as.value_or(Account(uid)); }
};

}  // namespace cccl_cache::daemon
