// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <vector>

#include "daemon/core/closure/file_exchange.h"
#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/account.h"
#include "daemon/service/calls/stream_call.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/wire/reply_bytes.h"

namespace cccl_cache::daemon {

/// One call of BuildWithFiles. The build asks its questions on the core's threads. A message is
/// read only while an answer is awaited, and waits for its turn like any request.
class WithFilesCall final : public StreamCall {
 public:
  WithFilesCall(BuildBackend& backend, Peer peer, CallStream& stream);

 private:
  void OnMessage(grpc::ByteBuffer& message) override;
  void OnHalfClose() override;
  void OnSpace() override { GoOn(); }
  void OnGone() override;
  [[nodiscard]] Status StartBuild(grpc::ByteBuffer& message);
  [[nodiscard]] Status TakeAnswers(grpc::ByteBuffer& message);
  void Answer(const Result<BuildAnswer>& answer);
  /// Sends the next message, and reads while an answer is awaited.
  void GoOn();

  BuildBackend& backend_;
  const Peer peer_;
  const std::shared_ptr<FileExchange> exchange_;
  std::vector<ArtifactKind> wanted_;
  BuildCoordinator::Ticket ticket_ = 0;  ///< 0 until the request has arrived
  Share bytes_;                          ///< bytes of the request, later of the reply
  Share incoming_;                       ///< bytes of contents that are not complete
  std::optional<ReplyChunks> chunks_;    ///< set once the build is answered
};

}  // namespace cccl_cache::daemon
