// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <string>

#include "daemon/core/model/account.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/stream_call.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// One call of Upload: receives contents in chunks, and keeps them for the user's later builds.
class UploadCall final : public StreamCall {
 public:
  static constexpr uint64_t kChunkBytes = 1u << 20;

  UploadCall(BuildBackend& backend, const Peer& peer, CallStream& stream);
  ~UploadCall() override;

 private:
  void OnMessage(grpc::ByteBuffer& message) override;
  void OnHalfClose() override;
  /// Releases the budget of the upload before the caller gets the error, so that it is free for the
  /// user's next upload.
  void OnGone() override { kept_.Release(); }
  [[nodiscard]] Status Append(grpc::ByteBuffer& message);

  BuildBackend& backend_;
  const Peer peer_;
  Share kept_;
  std::string bytes_;
  Hasher hasher_;
  std::optional<Digest> digest_;  ///< set when the upload is kept
};

}  // namespace cccl_cache::daemon
