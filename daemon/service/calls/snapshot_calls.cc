// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/snapshot_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "cccl_cache/v1/snapshot.pb.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/limits/budget.h"
#include "proto/snapshot/snapshot.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

constexpr int kMaxUsers = 4'096;
constexpr size_t kKeyBytes = sizeof(Digest::bytes);

Error Invalid(std::string message) { return {ErrorCode::kInvalidRequest, std::move(message)}; }

std::optional<std::chrono::sys_seconds> TimeOf(uint64_t seconds) {
  constexpr uint64_t kLatest = std::numeric_limits<int64_t>::max();
  if (seconds == 0) return std::nullopt;
  return std::chrono::sys_seconds(
      std::chrono::seconds(static_cast<int64_t>(std::min(seconds, kLatest))));
}

/// Reads the filter with its keys. The keys' bytes are counted in the budget, in the share
/// `counted`.
Result<SnapshotFilter> ReadFilter(BlockingCall& call, Share& counted) {
  v1::SnapshotCreateRequest request;
  if (Status read = call.Read(request); !read) return read.error();
  Result<SnapshotFilter> filter = FromProto(request.filter());
  if (!filter) return filter;
  while (true) {
    auto bytes =
        call.backend().budget.Take(call.peer().account(), Resource::kBytes,
                                   request.known_keys().size() + request.wanted_keys().size());
    if (!bytes) return bytes.error();
    counted.Merge(std::move(*bytes));
    Status added = AddKeys("known_keys", request.known_keys(), filter->known);
    if (added.ok()) added = AddKeys("wanted_keys", request.wanted_keys(), filter->wanted);
    if (!added.ok()) return added.error();
    if (request.last()) break;
    if (Status read = call.Read(request); !read) return read.error();
  }
  std::ranges::sort(filter->known);
  std::ranges::sort(filter->wanted);
  filter->wanted.erase(std::unique(filter->wanted.begin(), filter->wanted.end()),
                       filter->wanted.end());
  return filter;
}

/// Sends bytes in messages of the largest size.
class Sender {
 public:
  explicit Sender(BlockingCall& call) : call_(call) {}

  /// Sends all messages that are full. Keeps the remaining bytes for the next call.
  Status Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t taken =
          std::min<size_t>(bytes.size(), BlockingCall::kChunkBytes - unsent_.size());
      unsent_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (unsent_.size() < BlockingCall::kChunkBytes) break;
      if (Status sent = SendRest(); !sent) return sent;
    }
    return Ok{};
  }

  Status SendRest() {
    if (unsent_.empty()) return Ok{};
    v1::SnapshotCreateReply reply;
    reply.set_data(std::exchange(unsent_, {}));
    return call_.Write(reply);
  }

 private:
  BlockingCall& call_;
  std::string unsent_;
};

}  // namespace

Status CreateSnapshot(BlockingCall& call, Snapshots& snapshots) {
  Share counted;
  const Result<SnapshotFilter> filter = ReadFilter(call, counted);
  if (!filter) return filter.error();
  Sender sender(call);
  const Result<SnapshotSummary> made = snapshots.Create(
      call.Caller(), *filter, [&sender](std::string_view bytes) { return sender.Send(bytes); });
  if (!made) return made.error();
  if (Status sent = sender.SendRest(); !sent) return sent;
  v1::SnapshotCreateReply reply;
  ToProto(*made, *reply.mutable_summary());
  return call.Write(reply);
}

Status InsertSnapshot(BlockingCall& call, Snapshots& snapshots) {
  const Result<std::unique_ptr<IncomingSnapshot>> incoming = snapshots.Receive(call.Caller());
  if (!incoming) return incoming.error();
  v1::SnapshotInsertRequest request;
  do {
    if (Status read = call.Read(request); !read) return read;
    if (Status appended = (*incoming)->Append(request.data()); !appended) return appended;
  } while (!request.last());
  const Result<SnapshotSummary> kept = (*incoming)->Finish();
  if (!kept) return kept.error();
  v1::SnapshotInsertReply reply;
  ToProto(*kept, *reply.mutable_summary());
  return call.Write(reply);
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

}  // namespace cccl_cache::daemon
