// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/service/calls/backend.h"
#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// The service grpc.reflection.v1alpha, which describes the services of this server to tools such
/// as grpcurl. gRPC's own reflection service can't be used, because it is synchronous. It would add
/// a second poller to each server. That poller would take every other event away from the thread of
/// the callback services, which costs a tenth of the time of a hit. Thread-safe.
class ReflectionService final : public RawService {
 public:
  /// `services`: the full names of the listed services. The backend must outlive the service.
  ReflectionService(BuildBackend& backend, Account account, std::vector<std::string> services);

 private:
  const std::vector<std::string> services_;
};

}  // namespace cccl_cache::daemon
