// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/info_service.h"

#include "daemon/service/calls/unary_call.h"

namespace cccl_cache::daemon {

InfoService::InfoService(BuildBackend& backend, Account account,
                         const cccl_cache::v1::InfoReply& reply, const Health& health) {
  Serve("/cccl_cache.v1.Info/Get",
        UnaryCall::Maker<cccl_cache::v1::InfoRequest>(
            backend, account,
            [&reply, &health](const auto& /*request*/, const UnaryCall::Reply& answer) {
              cccl_cache::v1::InfoReply now = reply;
              now.set_problem(health.problem());
              answer(grpc::Status::OK, now);
            }));
}

}  // namespace cccl_cache::daemon
