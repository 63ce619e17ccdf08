// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/service/calls/backend.h"
#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// grpc.reflection.v1alpha: describes the services of this server, for tools such as grpcurl. gRPC
/// has its own reflection service, but a synchronous one. That would add a second poller to each
/// server, which takes every other event of the callback services from their thread, and costs a
/// tenth of the time of a hit. Thread-safe.
class ReflectionService final : public RawService {
 public:
  /// `services`: the full names of the listed services. The backend must outlive the service.
  ReflectionService(BuildBackend& backend, Account account, std::vector<std::string> services);

 private:
  const std::vector<std::string> services_;
};

}  // namespace cccl_cache::daemon
