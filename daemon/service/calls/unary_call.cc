// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/unary_call.h"

#include <utility>

#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {

UnaryCall::UnaryCall(BuildBackend& backend, Account account, CallStream& stream,
                     std::shared_ptr<const Method> method)
    : StreamCall(backend, account, stream), method_(std::move(method)) {
  Begin([this, &backend] {
    if (Hold(Resource::kCalls)) Read(backend.read_gate);
  });
}

void UnaryCall::OnMessage(grpc::ByteBuffer& request) {
  auto reply = [this, events = events()](const grpc::Status& status,
                                         const google::protobuf::MessageLite& message) {
    if (status.ok()) {
      events->Post([this, bytes = Encode(message)] { SendLast(bytes); });
    } else {
      events->Post([this, status] { End(status); });
    }
  };
  if (const Status asked = (*method_)(request, std::move(reply)); !asked) End(asked.error());
}

}  // namespace cccl_cache::daemon
