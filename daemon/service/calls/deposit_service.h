// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/peer.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// cccl_cache.v1.Deposit for one peer, whose uid and groups decide what exists for it. Thread-safe.
class DepositService final : public RawService {
 public:
  /// Both must outlive the service.
  DepositService(BuildBackend& backend, const Peer& peer);
};

}  // namespace cccl_cache::daemon
