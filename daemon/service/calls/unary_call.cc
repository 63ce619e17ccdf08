// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/unary_call.h"

namespace cccl_cache::daemon {

void UnaryCall::OnRequest(grpc::ByteBuffer& request) {
  const auto decoded = (*method_)(
      request, [this](const grpc::Status& status, const google::protobuf::MessageLite& reply) {
        End(status, reply);
      });
  if (!decoded) Fail(decoded.error());
}

void UnaryCall::End(const grpc::Status& status, const google::protobuf::MessageLite& reply) {
  if (!status.ok()) {
    Finish(status);
    return;
  }
  reply_ = Encode(reply);
  if (auto counted = CountReply(reply_.Length()); !counted) {
    Fail(counted.error());
    return;
  }
  StartWriteAndFinish(&reply_, grpc::Status::OK);
}

}  // namespace cccl_cache::daemon
