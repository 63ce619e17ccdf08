// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/raw_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <utility>

namespace cccl_cached {

void RawService::Serve(const char* method, MakeCall make_call) {
  using Handler = grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
  AddMethod(new grpc::internal::RpcServiceMethod(method, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                 nullptr));
  MarkMethodRawCallback(
      methods_++,
      new Handler([make_call = std::move(make_call)](grpc::CallbackServerContext* context) {
        return make_call(*context);
      }));
}

}  // namespace cccl_cached
