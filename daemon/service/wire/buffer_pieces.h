// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <span>
#include <string_view>
#include <vector>

namespace cccl_cache::daemon {

/// The bytes of a received message where gRPC has put them. Keeps them; stays where it was made.
class BufferPieces {
 public:
  explicit BufferPieces(const grpc::ByteBuffer& buffer) {
    // Of a message that is in memory: nothing that could fail.
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

}  // namespace cccl_cache::daemon
