// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// What the kernel calls everybody who has no uid here: those of other user namespaces, many
/// people. Nothing is kept or shared as theirs.
inline constexpr uid_t kOverflowUid = 65534;

/// Who asks: what the kernel said of the other end when it connected (SO_PEERCRED, SO_PEERGROUPS).
struct Peer {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;   ///< supplementary, sorted
  pid_t pid = 0;               ///< for the log only: a pid can be reused, nothing is decided by it
  bool administrator = false;  ///< was found at accept (service/limits/administrators.h)
  std::optional<Account> counted_as = std::nullopt;  ///< none: the uid's own account

  [[nodiscard]] Account account() const { return counted_as.value_or(Account(uid)); }
};

}  // namespace cccl_cache::daemon
