// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/core/model/account.h"
#include "daemon/service/limits/containers.h"

namespace cccl_cache::daemon {

/// Maps each uid to its account (docs/internals/decisions/0029). Thread-safe. A thread of its own
/// reads the files and asks the system for names, which may hang. No caller waits for that thread.
class Accounts {
 public:
  /// The files and functions that list the users.
  struct Sources {
    std::string subordinate_uids = "/etc/subuid";
    std::string login_defaults = "/etc/login.defs";
    std::function<std::optional<uid_t>(const std::string& name)> find_uid = FindUid;
    std::function<bool(uid_t uid)> has_name = HasName;
  };

  Accounts() : Accounts(Sources{}) {}
  explicit Accounts(Sources sources);
  ~Accounts();
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  /// Returns the account of a uid. A subordinate uid counts as its owner or, if the owner is root
  /// or the daemon's own user, as the first uid of its range. Any other uid from SUB_UID_MIN on
  /// counts as nameless until its name is known, and as long as it has none. A uid that equals the
  /// number of a container's user always counts as nameless. The first call for such a uid starts
  /// the look-up of its name.
  [[nodiscard]] Account Of(uid_t uid);
  /// Returns the account of a uid in a stored row, or none if its name is not known yet. The first
  /// call starts the look-up of the name. Never blocks. Also takes the numbers of containers'
  /// users: none after they were forgotten, so that their rows stay on their account
  /// (AccountUsage).
  [[nodiscard]] std::optional<Account> OfStored(uid_t uid);
  /// Returns the table of containers' users.
  [[nodiscard]] Containers& containers() { return containers_; }
  /// Returns when the files were read again and all names of earlier calls are known. For tests.
  void Settle();

 private:
  class State;
  static std::optional<uid_t> FindUid(const std::string& name);
  static bool HasName(uid_t uid);
  Containers containers_;
  const std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this object
};

/// Decides which peers may administer the daemon: root, the daemon's own user and the members of
/// one group, if they run in the daemon's own user namespace (docs/internals/decisions/0066).
/// Thread-safe.
class Administrators {
 public:
  explicit Administrators(std::optional<gid_t> group = std::nullopt) : group_(group) {}

  /// Returns whether this peer is an administrator. `socket` is the connection of this peer, which
  /// was just accepted. Also returns false if the system does not show the peer's user namespace.
  [[nodiscard]] bool Include(int socket, const Peer& peer) const;

 private:
  const std::optional<gid_t> group_;
};

}  // namespace cccl_cache::daemon
