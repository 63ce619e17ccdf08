// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Maximum bytes of a request to any method whose request contains no build.
inline constexpr uint64_t kSmallRequestBytes = 4096;

/// Decodes a request of at most kSmallRequestBytes. kInvalidRequest: it is larger or malformed.
[[nodiscard]] Status DecodeSmall(grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

[[nodiscard]] grpc::ByteBuffer Encode(const google::protobuf::MessageLite& message);

/// Gives access to the bytes of a received message without a copy. The object keeps gRPC's memory
/// with the bytes alive. It must not be moved.
class BufferPieces {
 public:
  explicit BufferPieces(const grpc::ByteBuffer& buffer) {
    // The message is in memory, so Dump cannot fail.
    static_cast<void>(buffer.Dump(&slices_));
    for (const grpc::Slice& slice : slices_) {
      pieces_.emplace_back(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  BufferPieces(const BufferPieces&) = delete;
  BufferPieces& operator=(const BufferPieces&) = delete;

  [[nodiscard]] std::span<const std::string_view> views() const { return pieces_; }

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<std::string_view> pieces_;
};

/// Maximum bytes of an error's text. Longer texts are truncated, because gRPC clients accept only
/// some 8 KiB of percent-encoded trailers.
inline constexpr size_t kMaxErrorText = 2048;

/// Returns the error's text for the client: truncated, and followed by the number of the request in
/// the log if there is one.
[[nodiscard]] std::string TextOf(const Error& error);

/// Returns the gRPC status for an error (table in docs/internals/protocol.md). Also adds the
/// trailers cccl-error and cccl-retry-ms to the call.
[[nodiscard]] grpc::Status ToGrpcStatus(const Error& error, grpc::ServerContextBase& context);

}  // namespace cccl_cache::daemon
