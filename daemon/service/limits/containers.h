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

/// The properties by which the daemon identifies a container. The processes of a container can't
/// leave its control group. They also can't get the root mount of another container in that group.
struct ContainerMark {
  std::string control_group;  ///< the text of /proc/PID/cgroup
  std::string root;           ///< of the mount at "/": id, device, root and source (mountinfo)

  bool operator==(const ContainerMark&) const = default;
};

/// Returns the mark from the contents of /proc/PID/cgroup and /proc/PID/mountinfo. `mounts` may end
/// after the line of the mount at "/". Returns none if that line is missing, if a text is
/// malformed, or if `control_group` is empty or too long.
[[nodiscard]] std::optional<ContainerMark> MarkOf(std::string_view control_group,
                                                  std::string_view mounts);

/// Gives each uid of each container a number, which replaces the uid in the whole daemon
/// (docs/internals/decisions/0067). The number distinguishes it from the same uid on this node and
/// in other containers. Numbers are never reused. A container gets no number if fewer are left than
/// its control group and the control groups above it have used together. A container that uses many
/// numbers thus leaves enough for others. Thread-safe. No function waits for anything but /proc.
class Containers {
 public:
  struct Limits {
    size_t accounts = 256;           ///< maximum accounts of control groups at one time
    size_t users_per_account = 256;  ///< maximum users of one account at one time
    uint32_t numbers = 0x7ffffff0;   ///< maximum numbers that one object gives in its life
  };
  using Report = std::function<void(std::string_view text)>;

  Containers() : Containers(Limits{}) {}
  explicit Containers(const Limits& limits) : limits_(limits) {}

  /// Sets the function that is called, without a lock, for each user that gets a number. It gets
  /// one sentence for the log. Must be called before the first Identify.
  void SetReport(Report report) { report_ = std::move(report); }

  /// Replaces the uid, groups and account of a peer that connected at a socket for containers. A
  /// peer whose container can't be identified gets kOverflowUid, for which the daemon keeps
  /// nothing.
  void Identify(int socket, Peer& peer);
  /// Like the function above, for a container whose mark is known. If `mark` is none, the container
  /// can't be identified.
  void Identify(const std::optional<ContainerMark>& mark, Peer& peer);

  /// Returns a handle to hold while a connection of the user is open. As long as the handle exists,
  /// the user keeps its number. Returns null if the number is not in use.
  [[nodiscard]] std::shared_ptr<const void> Hold(uid_t user);

  /// Returns the account of the user with this number, or none if the number is not in use any
  /// more. May be called while the caller holds any lock.
  [[nodiscard]] std::optional<Account> AccountOf(uid_t user) const;

 private:
  /// The control groups on the path to the control group of a container, the outermost first. Each
  /// is a number, and zeros follow the last one. Control groups below the 32nd are left out.
  using Places = std::array<uint64_t, 32>;
  /// A token that open connections share. If it has more than one owner, a connection is open.
  using Token = std::shared_ptr<const void>;

  struct User {
    uid_t number;
    uint64_t last_use;
    Token connected = std::make_shared<const char>();
  };
  struct Group {
    Account account;
    Places places = {};
    std::map<Digest, User> users = {};  ///< key: digest of control group, root mount and uid
    uint64_t last_use = 0;
    Token connected = std::make_shared<const char>();
  };
  struct Place {
    size_t accounts = 0;  ///< accounts of this control group and of those below it
    uint64_t given = 0;   ///< numbers that their users and accounts have got
  };
  struct Number {
    const Group& group;
    const User& user;
  };

  using Groups = std::map<Digest, Group>;

  [[nodiscard]] static Places PlacesOf(std::string_view path);
  /// Returns the group with this name. Makes it if there is none. Returns others_ if there is no
  /// account for it, and null if there is no number for it.
  [[nodiscard]] Group* GroupOf(const Digest& name, const Places& places) REQUIRES(mutex_);
  /// Returns the account that must be removed to make room for a new account at these places, or
  /// groups_.end() if there is none. Visits each account once per level of the tree, whatever the
  /// length of the paths.
  [[nodiscard]] Groups::iterator GroupToForget(const Places& places) REQUIRES(mutex_);
  /// Returns the user with this name. Makes it if there is none. Returns null if there is no number
  /// for it, or if the account is full and all its users have connections.
  [[nodiscard]] User* UserOf(Group& group, const Digest& name) REQUIRES(mutex_);
  /// Removes the least recently used user without connections. Returns false if every user has one.
  bool RemoveOldestUser(Group& group) REQUIRES(mutex_);
  void Forget(Groups::iterator group) REQUIRES(mutex_);
  [[nodiscard]] bool HasNumbers(const Account& account) const REQUIRES(mutex_);
  [[nodiscard]] uid_t NextNumber(const Account& account) REQUIRES(mutex_);

  const Limits limits_;
  Report report_;
  mutable Mutex mutex_;
  Groups groups_ GUARDED_BY(mutex_);                                   // key: digest of the path
  Group others_ GUARDED_BY(mutex_) = {Account::OfUntoldContainers()};  // without own accounts
  std::map<uid_t, Number> numbers_ GUARDED_BY(mutex_);                 // key: the user's number
  std::map<uint64_t, Place> places_ GUARDED_BY(mutex_);                // key: as in Places
  uint64_t uses_ GUARDED_BY(mutex_) = 0;
  uid_t next_ GUARDED_BY(mutex_) = kFirstContainerUser;
};

}  // namespace cccl_cache::daemon
