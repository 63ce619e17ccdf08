// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/service/calls/backend.h"
#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// grpc.reflection.v1alpha: describes the services of this server, for tools such as grpcurl. gRPC
/// has such a service, but a synchronous one. It would give each server a second poller, which
/// takes every other event of the callback services from their thread. That costs a tenth of the
/// time of a hit. Thread-safe.
class ReflectionService final : public RawService {
 public:
  /// `services`: the full names of the listed services. The backend must outlive the service.
  ReflectionService(BuildBackend& backend, Account account, std::vector<std::string> services);

 private:
  const std::vector<std::string> services_;
};

}  // namespace cccl_cache::daemon
