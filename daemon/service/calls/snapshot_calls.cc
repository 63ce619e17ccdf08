// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/snapshot_calls.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "cccl_cache/v1/snapshot.pb.h"
#include "daemon/service/wire/messages.h"
#include "proto/snapshot.h"

namespace cccl_cache::daemon {
namespace {

constexpr int kMaxUsers = 4'096;
constexpr size_t kKeyBytes = sizeof(Digest::bytes);

Error Invalid(std::string message) { return {ErrorCode::kInvalidRequest, std::move(message)}; }

std::optional<std::chrono::sys_seconds> TimeOf(uint64_t seconds) {
  constexpr uint64_t kLatest = std::numeric_limits<int64_t>::max();
  if (seconds == 0) return std::nullopt;
  return std::chrono::sys_seconds(
      std::chrono::seconds(static_cast<int64_t>(std::min(seconds, kLatest))));
}

// A caller that moves less than this is waited for no longer than the patience, in all waits
// together. Otherwise a caller that sends one byte now and then would keep a place that others wait
// for.
constexpr uint64_t kBytesPerSecond = 1u << 20;

Error CallerLeft() { return {ErrorCode::kCancelled, "the caller left"}; }

}  // namespace

namespace v1 = cccl_cache::v1;

Status CreateSnapshotCall::Work() {
  const Result<SnapshotFilter> filter = ReadFilter();
  if (!filter) return filter.error();
  const Result<SnapshotSummary> made =
      snapshots_.Create(Caller(), *filter, [this](std::string_view bytes) { return Send(bytes); });
  if (!made) return made.error();
  if (Status sent = SendRest(); !sent) return sent;
  v1::SnapshotCreateReply reply;
  ToProto(*made, *reply.mutable_summary());
  return Write(reply);
}

Result<SnapshotFilter> CreateSnapshotCall::ReadFilter() {
  v1::SnapshotCreateRequest request;
  if (Status read = Read(request); !read) return read.error();
  Result<SnapshotFilter> filter = FromProto(request.filter());
  if (!filter) return filter;
  while (true) {
    auto bytes = backend().budget.Take(peer().account(), Resource::kBytes,
                                       request.known_keys().size() + request.wanted_keys().size());
    if (!bytes) return bytes.error();
    keys_.Merge(std::move(*bytes));
    Status added = AddKeys("known_keys", request.known_keys(), filter->known);
    if (added.ok()) added = AddKeys("wanted_keys", request.wanted_keys(), filter->wanted);
    if (!added.ok()) return added.error();
    if (request.last()) break;
    if (Status read = Read(request); !read) return read.error();
  }
  std::ranges::sort(filter->known);
  std::ranges::sort(filter->wanted);
  filter->wanted.erase(std::unique(filter->wanted.begin(), filter->wanted.end()),
                       filter->wanted.end());
  return filter;
}

Status CreateSnapshotCall::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min<size_t>(bytes.size(), kChunkBytes - unsent_.size());
    unsent_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (unsent_.size() < kChunkBytes) break;
    if (Status sent = SendRest(); !sent) return sent;
  }
  return Ok{};
}

Status CreateSnapshotCall::SendRest() {
  if (unsent_.empty()) return Ok{};
  v1::SnapshotCreateReply reply;
  reply.set_data(std::exchange(unsent_, {}));
  return Write(reply);
}

Status InsertSnapshotCall::Work() {
  const Result<std::unique_ptr<IncomingSnapshot>> incoming = snapshots_.Receive(Caller());
  if (!incoming) return incoming.error();
  cccl_cache::v1::SnapshotInsertRequest request;
  do {
    if (Status read = Read(request); !read) return read;
    if (Status appended = (*incoming)->Append(request.data()); !appended) return appended;
  } while (!request.last());
  const Result<SnapshotSummary> kept = (*incoming)->Finish();
  if (!kept) return kept.error();
  cccl_cache::v1::SnapshotInsertReply reply;
  ToProto(*kept, *reply.mutable_summary());
  return Write(reply);
}

Result<SnapshotFilter> FromProto(const cccl_cache::v1::SnapshotFilter& message) {
  for (const auto& [name, text] : {std::pair{"toolchain", &message.toolchain()},
                                   {"arch", &message.arch()},
                                   {"name_space", &message.name_space()}}) {
    if (!IsSnapshotText(*text)) {
      return Invalid(fmt::format("{} of the filter: at most 255 printable characters", name));
    }
  }
  if (message.uids_size() > kMaxUsers) {
    return Invalid(
        fmt::format("uids of the filter: {}, at most {} are allowed; all_users names "
                    "everybody",
                    message.uids_size(), kMaxUsers));
  }
  SnapshotFilter filter;
  filter.toolchain = message.toolchain();
  filter.arch = message.arch();
  filter.name_space = message.name_space();
  filter.since = TimeOf(message.since_s());
  filter.until = TimeOf(message.until_s());
  filter.uids.assign(message.uids().begin(), message.uids().end());
  filter.all_users = message.all_users();
  filter.only_wanted = message.only_wanted();
  return filter;
}

Status AddKeys(const char* field, std::string_view sent, std::vector<Digest>& keys) {
  const size_t count = sent.size() / kKeyBytes;
  if (sent.size() % kKeyBytes != 0) {
    return Invalid(fmt::format("{}: 32 bytes for each key", field));
  }
  if (count > kMaxSnapshotRecords - keys.size()) {
    return Invalid(
        fmt::format("{}: more than the {} that a snapshot can hold", field, kMaxSnapshotRecords));
  }
  for (; !sent.empty(); sent.remove_prefix(kKeyBytes)) {
    keys.push_back(*Digest::FromBytes(sent.substr(0, kKeyBytes)));
  }
  return Ok{};
}

void ToProto(const SnapshotSummary& summary, cccl_cache::v1::SnapshotSummary& message) {
  message.set_records(summary.records);
  message.set_bytes(summary.bytes);
  message.set_left_out(summary.left_out);
  message.set_shared(summary.shared);
  message.set_only_wanted(summary.only_wanted);
}

void BlockingCall::Begin() {
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) return End(call.error());
  auto stream = backend_.budget.Take(peer_.account(), Resource::kStreams);
  if (!stream) return End(stream.error());
  call_ = std::move(*call);
  stream_ = std::move(*stream);
  const Status begun = threads_.Add(
      peer_.account(), {.look = [this] { End(Work()); },
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
    // TryCancel ends the started operation.
    lock.Unlock();
    context().TryCancel();
    lock.Lock();
    changed_.Wait(mutex_, ended);
  }
  const bool well = *std::exchange(ended_well_, std::nullopt);
  if (well) return Ok{};
  if (soon) return CallerLeft();
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
