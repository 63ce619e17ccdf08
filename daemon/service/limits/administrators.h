// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

#include "daemon/core/model/peer.h"

namespace cccl_cache::daemon {

/// Decides which peers may administer the daemon: root, the daemon's own user and the members of
/// one group, if they run in the daemon's own user namespace (docs/internals/decisions/0030).
/// Thread-safe.
class Administrators {
 public:
  explicit Administrators(std::optional<gid_t> group = std::nullopt) : group_(group) {}

  /// Returns whether this peer is an administrator. `socket`: the connection of this peer, which
  /// has just been accepted. Also returns false if the system does not tell the peer's user
  /// namespace.
  [[nodiscard]] bool Include(int socket, const Peer& peer) const;

 private:
  const std::optional<gid_t> group_;
};

}  // namespace cccl_cache::daemon
