// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "daemon/core/model/peer.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// cccl_cache.v1.Build for one peer. Thread-safe; the backend must outlive it.
class BuildService final : public RawService {
 public:
  /// Who calls, as far as this call's connection tells: the credentials are those of the server,
  /// the pid is looked up by the connection.
  using PeerOf = std::function<Peer(const CallStream&)>;

  BuildService(BuildBackend& backend, PeerOf peer_of);
};

}  // namespace cccl_cache::daemon
