// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/service/calls/health.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// grpc.health.v1 for one peer. gRPC brings such a service, but takes its requests unbounded and
/// uncounted. Thread-safe.
class HealthService final : public RawService {
 public:
  /// Both must outlive the service.
  HealthService(BuildBackend& backend, Account account, Health& health);
};

}  // namespace cccl_cache::daemon
