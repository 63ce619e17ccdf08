// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <functional>

namespace cccl_cached {

/// What a gRPC service of the daemon consists of. All methods are served as streams of bytes,
/// whatever their .proto says of their shape, which the wire does not show: a unary handler is only
/// called when the whole message is in memory already, and no bound of ours would see it before.
/// Thread-safe once its constructor has returned.
class RawService : public grpc::Service {
 public:
  using Call = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
  using MakeCall = std::function<Call*(grpc::CallbackServerContext&)>;

 protected:
  /// The name is not copied. A call deletes itself when it is done.
  void Serve(const char* method, MakeCall make_call);

 private:
  int methods_ = 0;
};

}  // namespace cccl_cached
