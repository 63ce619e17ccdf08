// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// The uid that the kernel reports for every user of another user namespace who has no uid here. It
/// stands for many people, so nothing is kept or shared under it.
inline constexpr uid_t kOverflowUid = 65534;

/// The client of a connection, as the kernel described it at connect time (SO_PEERCRED,
/// SO_PEERGROUPS).
struct Peer {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;   ///< supplementary, sorted
  pid_t pid = 0;               ///< for the log only: pids are reused, so no decision uses it
  bool administrator = false;  ///< set at accept (service/limits/administrators.h)
  std::optional<Account> counted_as = std::nullopt;  ///< none: the uid's own account

  [[nodiscard]] Account account() const { return counted_as.value_or(Account(uid)); }
};

}  // namespace cccl_cache::daemon
