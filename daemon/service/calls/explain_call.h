// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>

#include "cccl_cache/v1/admin.pb.h"
#include "daemon/core/explain/explainer.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/explain_request.h"
#include "daemon/service/calls/unary_call.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/wire/build_request.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// One call of Explain. Its request can be as large as a build's and has the same bounds.
class ExplainCall final : public SmallCall {
 public:
  ExplainCall(BuildBackend& backend, Peer peer, CallStream& stream);

 private:
  class Wait;

  void OnRequest(grpc::ByteBuffer& request) override;
  void OnLeft() override;
  [[nodiscard]] Result<ExplainQuestion> Read(grpc::ByteBuffer& request);
  void AskOfKey(const Digest& key);
  void AskOfBuild(ExplainQuestion question);
  /// Returns false if the caller has left; the call is then ended with an error.
  [[nodiscard]] bool BeginWait();
  void Answer(const Result<Explanation>& answer);

  BuildBackend& backend_;
  const Peer peer_;
  const std::shared_ptr<Wait> wait_;
  grpc::ByteBuffer reply_;
};

}  // namespace cccl_cache::daemon
