// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/snapshot_upload.h"

#include <cccl_cache/v1/snapshot.pb-c.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "client/src/wire/messages.h"
#include "client/src/wire/wire_reader.h"

namespace cccl_cache {
namespace {

// The protocol's bound for the data of one message.
constexpr size_t kLargestPiece = size_t{1} << 20;
// Number in snapshot.proto.
constexpr uint32_t kReplySummary = 1;

}  // namespace

const ByteChain* SnapshotUpload::Next() {
  message_.Clear();
  if (last_sent_) return nullptr;
  piece_.resize(std::min<uint64_t>(kLargestPiece, size_ - sent_));
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
  CcclCache__V1__SnapshotInsertRequest request = CCCL_CACHE__V1__SNAPSHOT_INSERT_REQUEST__INIT;
  request.data = {static_cast<size_t>(size), reinterpret_cast<uint8_t*>(piece_.data())};
  request.last = last_sent_;
  AppendMessage(request.base, &message_);
  return &message_;
}

void SnapshotUpload::Restart() {
  sent_ = 0;
  last_sent_ = false;
  summary_.reset();
}

bool SnapshotUpload::Take(Message message) {
  if (summary_) return false;
  WireReader reader(message.View());
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kReplySummary && field.is_bytes) {
      summary_ = DecodeSnapshotSummary(field.bytes);
    }
  }
  return summary_ && !reader.malformed();
}

Expected<SnapshotSummary> SnapshotUpload::Result() const {
  if (summary_) return *summary_;
  return Error{CCCL_CACHE_PROTOCOL, "the daemon's answer to a snapshot can't be understood"};
}

}  // namespace cccl_cache
