// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace cccl_cache::daemon {

/// How far the daemon goes for a requester: to the daemon's own uid, whatever the daemon can read;
/// to others what everybody can read by the modes of files and directories, less what the service's
/// user owns. All three classes of a mode must allow it: "owner" or "group" without a right keeps
/// it from the very users that are meant, who may be those that ask. Immutable.
class Reach {
 public:
  Reach(uid_t requester, uid_t own) : own_(own), stranger_(requester != own) {}

  [[nodiscard]] bool IsStrangers() const { return stranger_; }
  [[nodiscard]] bool MaySearch(const struct statx& directory) const;
  [[nodiscard]] bool MayRead(const struct statx& file) const;

 private:
  [[nodiscard]] bool Allows(const struct statx& status, mode_t everybody) const;

  uid_t own_;
  bool stranger_;
};

}  // namespace cccl_cache::daemon
