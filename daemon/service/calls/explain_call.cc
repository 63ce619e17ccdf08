// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/explain_call.h"

#include <memory>
#include <utility>

#include "base/text.h"
#include "daemon/service/wire/build_request.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {

ExplainCall::ExplainCall(BuildBackend& backend, Peer peer, CallStream& stream)
    : StreamCall(backend, peer.account(), stream), backend_(backend), peer_(std::move(peer)) {
  Begin([this] {
    if (Hold(Resource::kCalls)) Read(backend_.read_gate);
  });
}

void ExplainCall::OnMessage(grpc::ByteBuffer& message) {
  auto question = ReadQuestion(message);
  const Status asked = question ? Ask(*std::move(question)) : question.error();
  if (!asked) End(asked.error());
}

Result<ExplainQuestion> ExplainCall::ReadQuestion(grpc::ByteBuffer& request) {
  const auto counted = backend_.budget.Take(peer_.account(), Resource::kBytes, request.Length());
  if (!counted) return counted.error();
  return ReadExplainRequest(request, backend_.limits, [this](const auto& digest) {
    return backend_.uploads.Find(peer_.uid, digest);
  });
}

Status ExplainCall::Ask(ExplainQuestion question) {
  std::shared_ptr<const BuildRequest> build = std::move(question.build.request);
  uint64_t bytes = question.build.bytes;
  if (question.key) {
    auto in_progress = backend_.builder.RequestOf(*question.key, peer_);
    if (!in_progress) return in_progress.error();
    build = *std::move(in_progress);
    // The bytes are counted again for this call, because the build's own call may end first and
    // release its share.
    if (build != nullptr) bytes = BytesOf(*build);
  }
  auto held = backend_.budget.Take(peer_.account(), Resource::kBytes, bytes);
  if (!held) return held.error();
  // The bytes stay counted until the question is answered or dropped.
  auto answer = [this, events = events(),
                 share = std::make_shared<Share>(std::move(*held))](Result<Explanation> explained) {
    events->Post([this, explained = std::move(explained)] {
      if (!explained) return End(explained.error());
      SendLast(Encode(ToProto(*explained)));
    });
  };
  if (build != nullptr) {
    ticket_ = backend_.builder.Explain(std::move(build), peer_, std::move(answer));
  } else {
    backend_.builder.ExplainKey(*question.key, peer_, std::move(answer));
  }
  return Ok{};
}

}  // namespace cccl_cache::daemon
