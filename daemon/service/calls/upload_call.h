// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <string>

#include "daemon/core/model/peer.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/transport/raw_call.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// One call of Upload. Deletes itself when the call is done.
class UploadCall final : public RawCall {
 public:
  static constexpr uint64_t kChunkBytes = 1u << 20;

  UploadCall(BuildBackend& backend, const Peer& peer, CallStream& stream);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  [[nodiscard]] Status Begin();
  [[nodiscard]] Status Append();
  void KeepAndReply();
  void Fail(const Error& error);

  BuildBackend& backend_;
  const Peer peer_;
  Share call_;
  Share stream_;
  Share kept_;
  grpc::ByteBuffer message_;
  std::string bytes_;
  Hasher hasher_;
  bool left_ = false;
  std::optional<Digest> digest_;  ///< set once the upload is kept
};

}  // namespace cccl_cache::daemon
