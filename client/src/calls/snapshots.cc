// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/snapshots.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/files/whole_file.h"
#include "base/wire.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

/// Removes keys from the front of `keys` and returns them: as many as fit into one message.
std::string_view TakePiece(std::string_view* keys) {
  const std::string_view piece = keys->substr(0, kMaxPiece);
  keys->remove_prefix(piece.size());
  return piece;
}

std::string Encode(const SnapshotChoice& filter) {
  using Field = fields::SnapshotFilter;
  ProtoWriter uids;
  for (const uint32_t uid : filter.uids) uids.Varint(uid);
  return ProtoWriter()
      .Bytes(Field::kToolchain, filter.toolchain)
      .Bytes(Field::kArch, filter.arch)
      .Bytes(Field::kNameSpace, filter.name_space)
      .Number(Field::kSinceS, filter.since_s)
      .Number(Field::kUntilS, filter.until_s)
      .Bytes(Field::kUids, uids.bytes())
      .Number(Field::kAllUsers, filter.all_users ? 1 : 0)
      .Number(Field::kOnlyWanted, filter.only_wanted ? 1 : 0)
      .Take();
}

/// Appends the messages of the request to `body`. The first message has the filter. Each message
/// has some of the known keys or some of the wanted keys.
void AppendRequest(const SnapshotChoice& filter, SnapshotKeys keys, ByteChain* body) {
  using Field = fields::SnapshotCreateRequest;
  ProtoWriter request;
  request.Message(Field::kFilter, Encode(filter));
  bool last = false;
  while (!last) {
    const std::string_view known = TakePiece(&keys.known);
    const std::string_view wanted = known.empty() ? TakePiece(&keys.wanted) : std::string_view();
    last = keys.known.empty() && keys.wanted.empty();
    request.Bytes(Field::kKnownKeys, known)
        .Number(Field::kLast, last ? 1 : 0)
        .Bytes(Field::kWantedKeys, wanted);
    AppendMessage(request.Take(), body);
  }
}

}  // namespace

std::optional<SnapshotSummary> DecodeSnapshotSummary(std::string_view bytes) {
  using Field = fields::SnapshotSummary;
  SnapshotSummary summary;
  ProtoReader reader(bytes);
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kRecords) summary.records = reader.Number();
    if (number == Field::kBytes) summary.bytes = reader.Number();
    if (number == Field::kLeftOut) summary.left_out = reader.Number();
    if (number == Field::kShared) summary.shared = reader.Number() != 0;
    if (number == Field::kOnlyWanted) summary.only_wanted = reader.Number() != 0;
  }
  if (!reader.ok()) return std::nullopt;
  return summary;
}

SnapshotDownload::SnapshotDownload(int fd) : fd_(fd), start_(lseek(fd, 0, SEEK_CUR)) {}

void SnapshotDownload::Restart() {
  summary_.reset();
  if (!wrote_) return;
  const bool back =
      start_ >= 0 && lseek(fd_, start_, SEEK_SET) == start_ && ftruncate(fd_, start_) == 0;
  if (back) return;
  failure_ = Error{CCCL_CACHE_UNAVAILABLE,
                   "the connection was lost in the middle of the snapshot, and what is written to "
                   "can't be rewritten: write to a regular file"};
}

bool SnapshotDownload::Take(Message message) {
  if (failure_ || summary_) return false;
  using Field = fields::SnapshotCreateReply;
  ProtoReader reader(message.View());
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kData && !Write(reader.View())) return false;
    if (number != Field::kSummary) continue;
    summary_ = DecodeSnapshotSummary(reader.View());
    if (!summary_) return false;
  }
  return reader.ok();
}

bool SnapshotDownload::Write(std::string_view bytes) {
  wrote_ = wrote_ || !bytes.empty();
  if (WriteAll(fd_, bytes)) return true;
  failure_ = Error{CCCL_CACHE_UNAVAILABLE,
                   std::string("the snapshot can't be written: ") + std::strerror(errno)};
  return false;
}

Expected<SnapshotSummary> SnapshotDownload::Result() const {
  if (failure_) return *failure_;
  if (summary_) return *summary_;
  return Error{CCCL_CACHE_PROTOCOL, "the daemon's answer ended before the snapshot did"};
}

Expected<SnapshotSummary> CreateSnapshot(Channel* channel, const SnapshotChoice& filter,
                                         SnapshotKeys keys, int fd, Deadline deadline) {
  ByteChain body;
  AppendRequest(filter, keys, &body);
  SnapshotDownload download(fd);
  Expected<Done> called =
      channel->Invoke("/cccl_cache.v1.Snapshot/Create", body, &download, deadline);
  if (!called.ok() && !download.failure()) return std::move(called).error();
  Expected<SnapshotSummary> made = download.Result();
  if (made.ok() && filter.only_wanted && !made->only_wanted) {
    return Error{CCCL_CACHE_PROTOCOL,
                 "the daemon is older than this client, and made a snapshot of more than the keys "
                 "that were named: restart it as the version that is installed"};
  }
  return made;
}

Expected<SnapshotSummary> InsertSnapshot(Channel* channel, int fd, uint64_t size,
                                         Deadline deadline) {
  const ByteChain nothing;
  SnapshotUpload upload(fd, size);
  Expected<Done> called =
      channel->Invoke("/cccl_cache.v1.Snapshot/Insert", nothing, &upload, deadline, &upload);
  if (upload.failure()) return *upload.failure();
  if (!called.ok()) return std::move(called).error();
  return upload.Result();
}

const ByteChain* SnapshotUpload::Next() {
  message_.Clear();
  if (last_sent_) return nullptr;
  piece_.resize(std::min<uint64_t>(kMaxPiece, size_ - sent_));
  ssize_t size = 0;
  do {
    size = pread(fd_, piece_.data(), piece_.size(), static_cast<off_t>(sent_));
  } while (size < 0 && errno == EINTR);
  if (size < 0 || (size == 0 && !piece_.empty())) {
    failure_ = Error{CCCL_CACHE_UNAVAILABLE,
                     std::string("the snapshot can't be read: ") +
                         (size < 0 ? std::strerror(errno) : "it became shorter meanwhile")};
    size = 0;
  }
  sent_ += static_cast<uint64_t>(size);
  last_sent_ = failure_ || sent_ == size_;
  using Field = fields::SnapshotInsertRequest;
  AppendBytesMessage(Field::kData, {piece_.data(), static_cast<size_t>(size)}, &message_,
                     ProtoWriter().Number(Field::kLast, last_sent_ ? 1 : 0).bytes());
  return &message_;
}

void SnapshotUpload::Restart() {
  sent_ = 0;
  last_sent_ = false;
  summary_.reset();
}

bool SnapshotUpload::Take(Message message) {
  if (summary_) return false;
  ProtoReader reader(message.View());
  while (const uint32_t number = reader.Next()) {
    if (number == fields::SnapshotInsertReply::kSummary) {
      summary_ = DecodeSnapshotSummary(reader.View());
    }
  }
  return summary_ && reader.ok();
}

Expected<SnapshotSummary> SnapshotUpload::Result() const {
  if (summary_) return *summary_;
  return Error{CCCL_CACHE_PROTOCOL, "the daemon's answer to a snapshot can't be understood"};
}

}  // namespace cccl_cache
