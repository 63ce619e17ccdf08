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

/// Maps each uid to the account that is charged for its resources (docs/internals/decisions/0029).
/// A background thread reads /etc/subuid and /etc/login.defs and looks up user names, because the
/// name service may hang. No function except Settle waits for that thread. Thread-safe.
class Accounts {
 public:
  /// The files and functions from which the daemon learns the users. Tests replace them.
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

  /// Returns the account of a uid. A uid in a range of /etc/subuid counts for the owner of the
  /// range or, if the owner is root or the daemon's own user, for the account of the first uid of
  /// the range. Any other uid from SUB_UID_MIN on counts for the account of nameless users until
  /// its name is known, and as long as it has no name. A uid that equals the number of a
  /// container's user always counts as nameless. The first call for such a uid starts the look-up
  /// of its name. Never blocks.
  [[nodiscard]] Account Of(uid_t uid);
  /// Returns the account of a uid in a stored row, or none if the uid's name is not known yet. The
  /// first call starts the look-up of the name. Never blocks. `uid` may be the number of a
  /// container's user. If that number is no longer in use, the result is none, so that AccountUsage
  /// keeps the user's rows on their last account.
  [[nodiscard]] std::optional<Account> OfStored(uid_t uid);
  /// Returns the table of the users of containers. It has the lifetime of this object.
  [[nodiscard]] Containers& containers() { return containers_; }
  /// Waits until the files were read again and the names of all earlier calls are known. For tests.
  void Settle();

 private:
  class State;
  static std::optional<uid_t> FindUid(const std::string& name);
  static bool HasName(uid_t uid);
  Containers containers_;
  const std::shared_ptr<State> state_;  ///< shared with the background thread, which may run on
                                        ///< after the destructor
};

/// Decides which peers may administer the daemon: root, the daemon's own user and the members of
/// one group, if they run in the daemon's own user namespace (docs/internals/decisions/0066).
/// Thread-safe.
class Administrators {
 public:
  explicit Administrators(std::optional<gid_t> group = std::nullopt) : group_(group) {}

  /// Returns whether this peer is an administrator. `socket` is the connection of the peer, which
  /// was just accepted. Returns false if the system does not show the user namespace of the peer's
  /// process.
  [[nodiscard]] bool Include(int socket, const Peer& peer) const;

 private:
  const std::optional<gid_t> group_;
};

}  // namespace cccl_cache::daemon
