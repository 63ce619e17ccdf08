// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/build_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

#include "daemon/service/build_call.h"
#include "daemon/service/upload_call.h"

namespace cccl_cached {
namespace {

using Stream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
using Handler = grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>;

}  // namespace

BuildService::BuildService(BuildBackend& backend, PeerOf peer_of) {
  // All three are served as streams of bytes, whatever build.proto says of their shape, which the
  // wire does not show: a unary handler is only called when the whole message is in memory already
  // (see BuildCall).
  int index = 0;
  auto serve = [&](const char* name, auto make_call) {
    AddMethod(new grpc::internal::RpcServiceMethod(name, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                   nullptr));
    MarkMethodRawCallback(index++, new Handler([make_call](grpc::CallbackServerContext* context) {
                            return static_cast<Stream*>(make_call(*context));
                          }));
  };
  serve("/cccl_cache.v1.Build/Build", [&backend, peer_of](grpc::CallbackServerContext& context) {
    return new BuildCall(backend, peer_of(context), context, BuildCall::Form::kOneMessage);
  });
  serve("/cccl_cache.v1.Build/BuildInChunks",
        [&backend, peer_of](grpc::CallbackServerContext& context) {
          return new BuildCall(backend, peer_of(context), context, BuildCall::Form::kChunks);
        });
  serve("/cccl_cache.v1.Build/Upload", [&backend, peer_of](grpc::CallbackServerContext& context) {
    return new UploadCall(backend, peer_of(context), context);
  });
}

}  // namespace cccl_cached
