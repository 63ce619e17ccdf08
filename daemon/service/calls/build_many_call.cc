// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/build_many_call.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/service/calls/build_call.h"
#include "daemon/service/wire/reply_bytes.h"
#include "daemon/service/wire/stream_messages.h"

namespace cccl_cache::daemon {
namespace {

/// The call stops reading requests while this many answers wait to be sent.
constexpr size_t kMaxUnsent = 256;

}  // namespace

BuildManyCall::BuildManyCall(BuildBackend& backend, Peer peer, CallStream& stream)
    : StreamCall(backend, peer.account(), stream), backend_(backend), peer_(std::move(peer)) {
  Begin([this] {
    // A message is in memory before it can be counted, so one of the maximum size always counts.
    if (Hold(Resource::kCalls) && Hold(Resource::kBatches) &&
        Hold(Resource::kBytes, backend_.limits.message_bytes)) {
      Read();
    }
  });
}

void BuildManyCall::OnMessage(grpc::ByteBuffer& message) {
  const auto request = ReadManyRequest(message);
  if (!request) return End(request.error());
  if (request->cancel) {
    CancelBuild(request->tag);
  } else {
    StartBuild(request->tag, message);
  }
  ReadMore();
}

void BuildManyCall::StartBuild(uint64_t tag, grpc::ByteBuffer& message) {
  auto build = ReadCounted(backend_, peer_, message, &ReadOfMany);
  if (!build) return Refuse(tag, build.error());
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) return Refuse(tag, call.error());
  const uint64_t number = ++last_number_;
  const auto shares = std::make_shared<Shares>(Shares{*std::move(call), std::move(build->bytes)});
  const auto [member, added] =
      members_.emplace(tag, Member{number, std::move(build->converted.wanted), shares});
  if (!added) {
    return End(Error{ErrorCode::kInvalidRequest,
                     fmt::format("tag: a build with the tag {} is under way already", tag)});
  }
  member->second.ticket = backend_.builder.Build(
      std::move(build->converted.request), peer_,
      [this, events = events(), tag, number, shares](Result<BuildAnswer> answer) {
        events->Post([this, tag, number, answer = std::move(answer)] {
          const auto answered = members_.find(tag);
          if (answered == members_.end() || answered->second.number != number) return;
          Answer(tag, answer);
        });
      });
}

void BuildManyCall::CancelBuild(uint64_t tag) {
  const auto member = members_.find(tag);
  if (member == members_.end()) return;
  backend_.builder.Leave(member->second.ticket);
  // The builder holds the shares until it has done with the build.
  members_.erase(member);
  Reply(tag, EncodeTaggedError(tag, {ErrorCode::kCancelled, "the caller cancelled this build"}));
  EndIfDone();
}

void BuildManyCall::Answer(uint64_t tag, const Result<BuildAnswer>& answer) {
  Member member = std::move(members_.extract(tag).mapped());
  member.shares->bytes.Release();
  Reply(tag,
        answer ? EncodeTaggedReply(tag, *answer, member.wanted, backend_.limits.message_bytes)
               : EncodeTaggedError(tag, answer.error()),
        std::move(member.shares->call));
  EndIfDone();
}

void BuildManyCall::Reply(uint64_t tag, const grpc::ByteBuffer& message, Share call) {
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, message.Length());
  if (bytes) return Send(message, *std::move(bytes), std::move(call));
  backend_.statistics.Add(Counter::kRefused);
  // The error is one line and is not counted. There are at most as many as builds, and reading
  // stops at a few.
  Send(EncodeTaggedError(tag, bytes.error()), {}, std::move(call));
}

void BuildManyCall::Refuse(uint64_t tag, const Error& error) {
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  Reply(tag, EncodeTaggedError(tag, error));
}

void BuildManyCall::ReadMore() {
  if (unsent() <= kMaxUnsent) Read();
}

void BuildManyCall::OnHalfClose() {
  last_read_ = true;
  EndIfDone();
}

void BuildManyCall::EndIfDone() {
  if (last_read_ && members_.empty()) End();
}

void BuildManyCall::OnGone() {
  for (const auto& [tag, member] : std::exchange(members_, {})) {
    if (member.ticket != 0) backend_.builder.Leave(member.ticket);
  }
}

}  // namespace cccl_cache::daemon
