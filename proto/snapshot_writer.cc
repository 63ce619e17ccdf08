// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/snapshot_writer.h"

#include <cassert>
#include <utility>

namespace cccl_cache {

bool SnapshotWriter::Put(std::string_view bytes) {
  if (written_ == 0 && bytes != kSnapshotHead && !Put(kSnapshotHead)) return false;
  hasher_.Append(bytes);
  written_ += bytes.size();
  return sink_(bytes);
}

bool SnapshotWriter::Add(SnapshotItem item, std::string_view stored) {
  assert(tail_.count < kMostSnapshotRecords && stored.size() <= kMostSnapshotRecordBytes);
  assert(tail_.count == 0 || SnapshotOrder(last_, item));
  item.stored_bytes = stored.size();
  item.sha256 = Sha256(stored);
  AppendSnapshotItem(item, &index_);
  ++tail_.count;
  last_ = std::move(item);
  return Put(stored);
}

bool SnapshotWriter::Finish() {
  tail_.index_bytes = index_.size();
  tail_.index_sha256 = Sha256(index_);
  if (!Put(index_) || !Put(EncodeSnapshotTail(tail_))) return false;
  const Digest sha256 = hasher_.Finish();
  written_ += sha256.View().size() + kSnapshotEnd.size();
  return sink_(std::string(sha256.View()).append(kSnapshotEnd));
}

}  // namespace cccl_cache
