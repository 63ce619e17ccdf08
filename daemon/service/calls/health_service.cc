// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/health_service.h"

#include "daemon/service/calls/health_watch.h"
#include "daemon/service/calls/unary_call.h"
#include "grpc/health/v1/health.pb.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = grpc::health::v1;

void Check(const Health& health, const v1::HealthCheckRequest& request,
           const UnaryCall::Reply& answer) {
  v1::HealthCheckResponse reply;
  if (!Health::Knows(request.service())) {
    answer({grpc::StatusCode::NOT_FOUND, "no such service"}, reply);
    return;
  }
  const bool well = request.service() == kReadyService ? health.ready() : health.serving();
  reply.set_status(well ? v1::HealthCheckResponse::SERVING : v1::HealthCheckResponse::NOT_SERVING);
  answer(grpc::Status::OK, reply);
}

}  // namespace

HealthService::HealthService(BuildBackend& backend, Account account, Health& health) {
  Serve("/grpc.health.v1.Health/Check",
        UnaryCall::Maker<v1::HealthCheckRequest>(
            backend, account, [&health](const auto& request, const UnaryCall::Reply& answer) {
              Check(health, request, answer);
            }));
  Serve("/grpc.health.v1.Health/Watch", [&backend, account, &health](CallStream& stream) {
    auto* call = new HealthWatch(backend, account, stream, health);
    call->Begin();
  });
}

}  // namespace cccl_cache::daemon
