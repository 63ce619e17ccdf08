// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>

#include "cccl_cache/v1/admin.pb.h"
#include "daemon/core/explain/explainer.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/stream_call.h"
#include "daemon/service/wire/build_request.h"
#include "daemon/service/wire/explain_request.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// One call of Explain. The request can contain that of a build, so it has the same limits.
class ExplainCall final : public StreamCall {
 public:
  ExplainCall(BuildBackend& backend, Peer peer, CallStream& stream);

 private:
  void OnMessage(grpc::ByteBuffer& message) override;
  void OnGone() override { backend_.builder.Leave(ticket_); }
  [[nodiscard]] Result<ExplainQuestion> ReadQuestion(grpc::ByteBuffer& request);
  [[nodiscard]] Status Ask(ExplainQuestion question);

  BuildBackend& backend_;
  const Peer peer_;
  Builder::Ticket ticket_ = 0;  ///< ticket of the dry run, for Leave(); 0: there is none
};

}  // namespace cccl_cache::daemon
