// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "daemon/core/explanation.h"
#include "daemon/core/peer.h"
#include "daemon/service/build_backend.h"
#include "daemon/service/explain_request.h"
#include "daemon/service/read_gate.h"

namespace cccl_cached {

/// One call of Explain, counted and bounded like one of Build (see BuildCall), since its request
/// holds one. It deletes itself when the call is done.
class ExplainCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          private GatedReader {
 public:
  ExplainCall(BuildBackend& backend, Peer peer, grpc::CallbackServerContext& context);

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  class Wait;

  void StartReading() override;
  void Ask(ExplainQuestion question);
  void Answer(const Result<Explanation>& answer);
  void Fail(const Error& error);

  BuildBackend& backend_;
  const Peer peer_;
  grpc::CallbackServerContext& context_;
  const std::shared_ptr<Wait> wait_;
  Share call_;
  Share bytes_;
  grpc::ByteBuffer message_;
};

}  // namespace cccl_cached
