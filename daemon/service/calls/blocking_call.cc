// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/blocking_call.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

// A caller may be waited for in all as long as the patience, and one second more for each MiB that
// it has sent or received. Without this limit, a caller that sends one byte now and then would keep
// a place for which others wait.
constexpr uint64_t kBytesPerSecond = 1u << 20;

Error LeftMeanwhile() { return {ErrorCode::kCancelled, "the caller left"}; }

}  // namespace

MakeCall BlockingCall::Maker(BuildBackend& backend, BlockingPool& threads, const Peer& peer,
                             Work work) {
  return [&backend, &threads, peer, work = std::move(work)](CallStream& stream) {
    (new BlockingCall(backend, threads, peer, stream, work))->Begin();
  };
}

void BlockingCall::Begin() {
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) return End(call.error());
  auto stream = backend_.budget.Take(peer_.account(), Resource::kStreams);
  if (!stream) return End(stream.error());
  call_ = std::move(*call);
  stream_ = std::move(*stream);
  const Status begun = threads_.Add(
      peer_.account(), {.look = [this] { End(work_(*this)); },
                        .then = [] {},
                        .late =
                            [this] {
                              End(Error{ErrorCode::kOverloaded, "no thread for this call"});
                            }});
  if (!begun) End(begun);
}

SnapshotCaller BlockingCall::Caller() {
  return {peer_, [this](uint64_t bytes) { return Hold(bytes); }, left_.get_token()};
}

Status BlockingCall::Hold(uint64_t bytes) {
  memory_.Release();
  auto share = backend_.budget.Take(peer_.account(), Resource::kBytes, bytes);
  if (!share) return share.error();
  memory_ = *std::move(share);
  return Ok{};
}

Status BlockingCall::Read(google::protobuf::MessageLite& message) {
  StartRead(&message_);
  if (Status read = Await(); !read) return read;
  moved_ += message_.Length();
  if (message_.Length() > kChunkBytes + kChunkHead) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("a message of {} bytes: at most {} of data are allowed in one",
                             message_.Length(), kChunkBytes)};
  }
  grpc::ProtoBufferReader reader(&message_);
  if (message.ParseFromZeroCopyStream(&reader)) return Ok{};
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("the message is not a {}", message.GetTypeName())};
}

Status BlockingCall::Write(const google::protobuf::MessageLite& message) {
  message_ = Encode(message);
  moved_ += message_.Length();
  StartWrite(&message_);
  return Await();
}

Status BlockingCall::Await() {
  using std::chrono::steady_clock;
  const std::chrono::milliseconds earned(1'000 * moved_ / kBytesPerSecond);
  const steady_clock::time_point begin = steady_clock::now();
  const auto ended = [this]() REQUIRES(mutex_) { return ended_well_.has_value(); };
  MutexLock lock(mutex_);
  const bool soon =
      changed_.WaitFor(mutex_, backend_.limits.answer_patience + earned - waited_, ended);
  waited_ += steady_clock::now() - begin;
  if (!soon) {
    // TryCancel ends the operation in progress.
    lock.Unlock();
    context().TryCancel();
    lock.Lock();
    changed_.Wait(mutex_, ended);
  }
  const bool well = *std::exchange(ended_well_, std::nullopt);
  if (well) return Ok{};
  if (soon) return LeftMeanwhile();
  return Error{
      ErrorCode::kTimedOut,
      fmt::format("the caller is too slow: it was waited for longer than {} ms and a second "
                  "for each MiB that it sent or took",
                  backend_.limits.answer_patience.count())};
}

void BlockingCall::Notice(bool ok) {
  const MutexLock lock(mutex_);
  ended_well_ = ok;
  // Notifies under the lock, because the call may be deleted as soon as its thread wakes.
  changed_.NotifyAll();
}

void BlockingCall::OnReadDone(bool ok) { Notice(ok); }

void BlockingCall::OnWriteDone(bool ok) { Notice(ok); }

void BlockingCall::OnCancel() { left_.request_stop(); }

void BlockingCall::End(const Status& status) {
  if (status) return Finish(grpc::Status::OK);
  if (status.error().code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  Finish(ToGrpcStatus(status.error(), context()));
}

void BlockingCall::OnDone() { delete this; }

}  // namespace cccl_cache::daemon
