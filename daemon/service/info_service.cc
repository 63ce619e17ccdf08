// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/info_service.h"

#include "daemon/service/unary_call.h"

namespace cccl_cached {

InfoService::InfoService(BuildBackend& backend, uid_t uid, const cccl_cache::v1::InfoReply& reply) {
  Serve("/cccl_cache.v1.Info/Get",
        UnaryCall::Maker<cccl_cache::v1::InfoRequest>(
            backend, uid, [&reply](const auto& /*request*/, const UnaryCall::Reply& answer) {
              answer(grpc::Status::OK, reply);
            }));
}

}  // namespace cccl_cached
