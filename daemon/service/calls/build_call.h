// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>

#include "daemon/core/model/peer.h"
#include "daemon/service/calls/pending_build.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/transport/stream_call.h"
#include "daemon/service/wire/build_request.h"
#include "daemon/service/wire/reply_bytes.h"

namespace cccl_cache::daemon {

/// One call of Build or BuildInChunks, from its headers to its last byte. Deletes itself
/// when the call is done. It is served as a stream although the request is one message: so the call
/// is counted, and waits for its turn, before its body is received.
class BuildCall final : public RawCall, private GatedReader {
 public:
  enum class Form { kOneMessage, kChunks };

  BuildCall(BuildBackend& backend, Peer peer, CallStream& stream, Form form);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void StartReading() override;
  void GiveUp() override { context().TryCancel(); }
  void StartBuild();
  [[nodiscard]] Status ReadRequest();
  void Answer(Result<BuildAnswer> answer);
  void SendNextChunk();
  void Fail(const Error& error);

  BuildBackend& backend_;
  const Peer peer_;
  const Form form_;
  const std::shared_ptr<PendingBuild> pending_;
  Share call_;
  Share bytes_;
  grpc::ByteBuffer message_;
  ConvertedRequest request_;
  std::optional<ReplyChunks> chunks_;
};

}  // namespace cccl_cache::daemon
