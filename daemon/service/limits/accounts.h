// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// Knows on whose account each uid is counted (docs/internals/decisions/0029). Thread-safe: a
/// thread of its own reads the files and asks the system for names, which may hang; nobody waits
/// for it.
class Accounts {
 public:
  /// Where it is said who the users are.
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

  /// A subordinate uid counts as its owner, or, if that is root or the daemon's own user, as the
  /// first uid of its range. Any other uid from SUB_UID_MIN on counts as nameless until its name
  /// is known, and for as long as it has none; the first call for it starts to find out.
  [[nodiscard]] Account Of(uid_t uid);
  /// The same of a uid that only a stored row names. None: its name is not known yet; the first
  /// call starts to find out. Never blocks.
  [[nodiscard]] std::optional<Account> OfStored(uid_t uid);
  /// Returns when the files were looked at again and all that was asked for so far is known. For
  /// tests.
  void Settle();

 private:
  class State;
  static std::optional<uid_t> FindUid(const std::string& name);
  static bool HasName(uid_t uid);
  const std::shared_ptr<State> state_;  ///< the thread's too, which may outlive this object
};

}  // namespace cccl_cache::daemon
