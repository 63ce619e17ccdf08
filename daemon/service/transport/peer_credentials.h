// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What the kernel says of the process that connected to this Unix socket, as it was when it
/// connected.
[[nodiscard]] Result<Peer> ReadPeerCredentials(int fd);

}  // namespace cccl_cache::daemon
