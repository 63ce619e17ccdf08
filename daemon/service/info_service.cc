// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/info_service.h"

namespace cccl_cached {

grpc::ServerUnaryReactor* InfoService::Get(grpc::CallbackServerContext* context,
                                           const cccl_cache::v1::InfoRequest* /*request*/,
                                           cccl_cache::v1::InfoReply* reply) {
  *reply = reply_;
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace cccl_cached
