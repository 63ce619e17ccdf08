// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/snapshot_download.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "client/src/wire/wire_reader.h"

namespace cccl_cache {
namespace {

// Numbers in snapshot.proto.
constexpr uint32_t kReplyData = 1;
constexpr uint32_t kReplySummary = 2;
constexpr uint32_t kRecords = 1;
constexpr uint32_t kBytes = 2;
constexpr uint32_t kLeftOut = 3;
constexpr uint32_t kShared = 4;

}  // namespace

std::optional<SnapshotSummary> DecodeSnapshotSummary(std::string_view bytes) {
  SnapshotSummary summary;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kRecords) summary.records = field.value;
    if (field.number == kBytes) summary.bytes = field.value;
    if (field.number == kLeftOut) summary.left_out = field.value;
    if (field.number == kShared) summary.shared = field.value != 0;
  }
  if (reader.malformed()) return std::nullopt;
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
                   "can't be written anew: write to a regular file"};
}

bool SnapshotDownload::Take(Message message) {
  if (failure_ || summary_) return false;
  WireReader reader(message.View());
  WireField field;
  while (reader.Next(&field)) {
    if (!field.is_bytes) continue;
    if (field.number == kReplyData && !Write(field.bytes)) return false;
    if (field.number != kReplySummary) continue;
    summary_ = DecodeSnapshotSummary(field.bytes);
    if (!summary_) return false;
  }
  return !reader.malformed();
}

bool SnapshotDownload::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(fd_, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      failure_ = Error{CCCL_CACHE_UNAVAILABLE,
                       std::string("the snapshot can't be written: ") + std::strerror(errno)};
      return false;
    }
    wrote_ = true;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

Expected<SnapshotSummary> SnapshotDownload::Result() const {
  if (failure_) return *failure_;
  if (summary_) return *summary_;
  return Error{CCCL_CACHE_PROTOCOL, "the daemon's answer ended before the snapshot did"};
}

}  // namespace cccl_cache
