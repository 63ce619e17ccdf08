// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The properties that identify a container. A container cannot leave its control group, nor get
/// the root mount of another container in it.
struct ContainerMark {
  std::string control_group;  ///< the text of /proc/PID/cgroup
  std::string root;           ///< number, device, root and source of the mount at "/"

  bool operator==(const ContainerMark&) const = default;
};

/// Returns the mark in the texts of /proc/PID/cgroup and /proc/PID/mountinfo, which may be
/// truncated. None if the texts have another form or lack the line of the mount at "/".
[[nodiscard]] std::optional<ContainerMark> MarkOf(std::string_view control_group,
                                                  std::string_view mounts);

/// Distinguishes the users of containers from each other, and from users of this node with the same
/// uids (docs/internals/decisions/0067). Each uid of each container gets its own number, which
/// replaces the uid everywhere. Numbers are never reused. A container gets no number if fewer are
/// left than all control groups on the way to its own have used together, so that a container that
/// uses up many leaves enough for others. Thread-safe; waits only for /proc.
class Containers {
 public:
  struct Limits {
    size_t accounts = 256;           ///< concurrent control groups with an account of their own
    size_t users_per_account = 256;  ///< concurrent uids of the containers of one account
    uint32_t numbers = 0x7ffffff0;   ///< of all time
  };
  using Report = std::function<void(std::string_view text)>;

  Containers() : Containers(Limits{}) {}
  explicit Containers(const Limits& limits) : limits_(limits) {}

  /// Has `report` called for each user that gets a number. Called before the first use.
  void SetReport(Report report) { report_ = std::move(report); }

  /// Replaces the uid, groups and account of a peer that connected at a socket for containers. A
  /// peer whose container can't be identified becomes kOverflowUid, which owns nothing.
  void Identify(int socket, Peer& peer);
  /// The same for a known mark. None: the container can't be identified.
  void Identify(const std::optional<ContainerMark>& mark, Peer& peer);

  /// Returns an object to hold while a connection of the user is open. The user keeps its number
  /// meanwhile.
  [[nodiscard]] std::shared_ptr<const void> Hold(uid_t user);

  /// Returns the account of a number, or none if the number is not in use any more. May be called
  /// under any lock.
  [[nodiscard]] std::optional<Account> AccountOf(uid_t user) const;

 private:
  /// The places on the way to a control group as numbers, the outermost first, with zeros after the
  /// last. Deeper places are not distinguished.
  using Places = std::array<uint64_t, 32>;
  /// Connections hold it while they are open.
  using Token = std::shared_ptr<const void>;

  struct User {
    uid_t number;
    uint64_t last_use;
    Token connected = std::make_shared<const char>();
  };
  struct Group {
    Account account;
    Places places = {};
    std::map<Digest, User> users = {};  ///< by root mount and uid
    uint64_t last_use = 0;
    Token connected = std::make_shared<const char>();
  };
  struct Place {
    size_t accounts = 0;  ///< at this place and below
    uint64_t given = 0;   ///< number of given numbers
  };
  struct Number {
    const Group& group;
    const User& user;
  };

  using Groups = std::map<Digest, Group>;

  [[nodiscard]] static Places PlacesOf(std::string_view path);
  /// Returns the shared group if no account is free. Null if no number is free.
  [[nodiscard]] Group* GroupOf(const Digest& name, const Places& places) REQUIRES(mutex_);
  /// Returns the account that gives way to a new account at these places, or the end. Visits each
  /// account once per level of the tree, for paths of any length.
  [[nodiscard]] Groups::iterator GroupToForget(const Places& places) REQUIRES(mutex_);
  /// Returns the user of this name. Null if no number is free.
  [[nodiscard]] User* UserOf(Group& group, const Digest& name) REQUIRES(mutex_);
  /// Removes the least recently used user without connections. Returns false if there is none.
  bool RemoveOldestUser(Group& group) REQUIRES(mutex_);
  void Forget(Groups::iterator group) REQUIRES(mutex_);
  [[nodiscard]] bool HasNumbers(const Account& account) const REQUIRES(mutex_);
  [[nodiscard]] uid_t NextNumber(const Account& account) REQUIRES(mutex_);

  const Limits limits_;
  Report report_;
  mutable Mutex mutex_;
  Groups groups_ GUARDED_BY(mutex_);                                   // by control group
  Group others_ GUARDED_BY(mutex_) = {Account::OfUntoldContainers()};  // beyond the limit
  std::map<uid_t, Number> numbers_ GUARDED_BY(mutex_);                 // of all users
  std::map<uint64_t, Place> places_ GUARDED_BY(mutex_);                // on the ways to accounts
  uint64_t uses_ GUARDED_BY(mutex_) = 0;
  uid_t next_ GUARDED_BY(mutex_) = kFirstContainerUser;
};

}  // namespace cccl_cache::daemon
