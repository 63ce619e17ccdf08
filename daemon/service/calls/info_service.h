// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cccl_cache/v1/info.pb.h"
#include "daemon/service/calls/health.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// cccl_cache.v1.Info for one peer: the same answer to everybody, with the problem of the moment.
/// Thread-safe.
class InfoService final : public RawService {
 public:
  /// Backend and reply must outlive the service.
  InfoService(BuildBackend& backend, Account account, const cccl_cache::v1::InfoReply& reply,
              const Health& health);
};

}  // namespace cccl_cache::daemon
