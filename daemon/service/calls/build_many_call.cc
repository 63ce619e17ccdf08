// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/build_many_call.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/service/wire/messages.h"
#include "daemon/service/wire/reply_bytes.h"
#include "daemon/service/wire/stream_messages.h"

namespace cccl_cache::daemon {
namespace {

/// The call stops reading requests while this many answers wait to be sent.
constexpr size_t kMaxUnsent = 256;

Error CallerLeft() { return {ErrorCode::kCancelled, "the caller left"}; }

}  // namespace

BuildManyCall::BuildManyCall(BuildBackend& backend, Peer peer, CallStream& stream)
    : RawCall(stream), backend_(backend), peer_(std::move(peer)), link_(std::make_shared<Link>()) {
  link_->call = this;
  if (auto begun = Begin(); !begun) {
    Fail(begun.error());
  } else {
    GoOn(link_);
  }
}

Status BuildManyCall::Begin() {
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) return call.error();
  auto stream = backend_.budget.Take(peer_.account(), Resource::kBatches);
  if (!stream) return stream.error();
  auto bytes =
      backend_.budget.Take(peer_.account(), Resource::kBytes, backend_.limits.message_bytes);
  if (!bytes) return bytes.error();
  call_ = std::move(*call);
  stream_ = std::move(*stream);
  next_message_ = std::move(*bytes);
  return Ok{};
}

void BuildManyCall::OnReadDone(bool ok) {
  const Status taken = ok ? TakeRequest() : Status(Ok{});
  message_.Clear();
  {
    const std::lock_guard lock(link_->mutex);
    reading_ = false;
    last_read_ = !ok;
  }
  if (!taken) {
    Fail(taken.error());
  } else {
    GoOn(link_);
  }
}

Status BuildManyCall::TakeRequest() {
  const auto request = ReadManyRequest(message_);
  if (!request) return request.error();
  if (request->cancel) {
    CancelBuild(request->tag);
    return Ok{};
  }
  auto build = ReadCounted(backend_, peer_, message_, &ReadOfMany);
  if (build) return StartBuild(request->tag, *std::move(build));
  Refuse(request->tag, build.error());
  return Ok{};
}

Status BuildManyCall::StartBuild(uint64_t tag, CountedRequest build) {
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) {
    Refuse(tag, call.error());
    return Ok{};
  }
  const auto pending = std::make_shared<PendingBuild>(backend_.builder);
  {
    const std::lock_guard lock(link_->mutex);
    if (end_) return Ok{};
    if (members_.contains(tag)) {
      return Error{ErrorCode::kInvalidRequest,
                   fmt::format("tag: a build with the tag {} is under way already", tag)};
    }
    members_.emplace(tag, Member{pending, std::move(build.converted.wanted), std::move(*call),
                                 std::move(build.bytes)});
  }
  // Start returns false if the caller has left meanwhile, which ends the call.
  static_cast<void>(PendingBuild::Start(pending, std::move(build.converted.request), peer_,
                                        [link = link_, tag](Result<BuildAnswer> answer) {
                                          {
                                            const std::lock_guard lock(link->mutex);
                                            if (link->call == nullptr) return;
                                            link->call->Reply(tag, answer);
                                          }
                                          GoOn(link);
                                        }));
  return Ok{};
}

void BuildManyCall::CancelBuild(uint64_t tag) {
  std::shared_ptr<PendingBuild> pending;
  {
    const std::lock_guard lock(link_->mutex);
    const auto member = members_.find(tag);
    if (member != members_.end()) pending = member->second.pending;
  }
  // If Cancel returns false, the build's answer has arrived or is about to.
  if (pending == nullptr || !pending->Cancel()) return;
  const std::lock_guard lock(link_->mutex);
  Reply(tag, Error{ErrorCode::kCancelled, "the caller cancelled this build"});
}

void BuildManyCall::Refuse(uint64_t tag, const Error& error) {
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  Outgoing refusal = Count(tag, EncodeTaggedError(tag, error));
  const std::lock_guard lock(link_->mutex);
  replies_.push_back(std::move(refusal));
}

void BuildManyCall::Reply(uint64_t tag, const Result<BuildAnswer>& answer) {
  auto member = members_.extract(tag);
  if (member.empty()) return;
  member.mapped().bytes.Release();
  Outgoing reply = Count(tag, answer ? EncodeTaggedReply(tag, *answer, member.mapped().wanted,
                                                         backend_.limits.message_bytes)
                                     : EncodeTaggedError(tag, answer.error()));
  reply.call = std::move(member.mapped().call);
  replies_.push_back(std::move(reply));
}

BuildManyCall::Outgoing BuildManyCall::Count(uint64_t tag, grpc::ByteBuffer message) {
  auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, message.Length());
  if (bytes) return {std::move(message), {}, std::move(*bytes)};
  backend_.statistics.Add(Counter::kRefused);
  // The error is one line and is not counted. There are at most as many as builds, and reading
  // stops at a few.
  return {EncodeTaggedError(tag, bytes.error()), {}, {}};
}

void BuildManyCall::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(link_->mutex);
    writing_ = false;
    written_ = {};
  }
  if (ok) {
    GoOn(link_);
  } else {
    Fail(CallerLeft());
  }
}

void BuildManyCall::OnCancel() { Fail(CallerLeft()); }

void BuildManyCall::Fail(const Error& error) {
  const std::shared_ptr<Link> link = link_;
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  std::map<uint64_t, Member> members;
  {
    const std::lock_guard lock(link->mutex);
    if (!end_) end_ = ToGrpcStatus(error, context());
    members.swap(members_);
    replies_.clear();
  }
  for (auto& [tag, member] : members) static_cast<void>(member.pending->Cancel());
  GoOn(link);
}

void BuildManyCall::GoOn(const std::shared_ptr<Link>& link) {
  // A copy: the call that holds the link may be deleted.
  const std::shared_ptr<Link> kept = link;
  const std::lock_guard lock(kept->mutex);
  if (kept->call != nullptr) kept->call->Advance();
}

void BuildManyCall::Advance() {
  if (over_) return;
  if (!end_ && !writing_ && !replies_.empty()) {
    written_ = std::move(replies_.front());
    replies_.pop_front();
    writing_ = true;
    StartWrite(&written_.message);
  }
  if (!end_ && !reading_ && !last_read_ && replies_.size() < kMaxUnsent) {
    reading_ = true;
    StartRead(&message_);
  }
  if (writing_) return;
  if (!end_ && last_read_ && members_.empty()) end_ = grpc::Status::OK;
  if (!end_) return;
  over_ = true;
  Finish(*end_);
}

void BuildManyCall::OnDone() {
  // A copy: the mutex must outlive this object.
  const std::shared_ptr<Link> link = link_;
  {
    const std::lock_guard lock(link->mutex);
    link->call = nullptr;
  }
  delete this;
}

}  // namespace cccl_cache::daemon
