// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/snapshot/snapshot.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/codec.h"

namespace cccl_cache {
namespace {

constexpr size_t kMaxText = 255;

void PutText(ByteWriter& writer, std::string_view text) {
  assert(text.size() <= kMaxText);
  writer.Put(static_cast<uint8_t>(text.size())).Bytes(text);
}

std::string TakeText(ByteReader& reader) {
  std::string text(reader.Bytes(reader.Take<uint8_t>()));
  if (!IsSnapshotText(text)) reader.Fail();
  return text;
}

}  // namespace

bool IsSnapshotText(std::string_view text) {
  const auto printable = [](char c) { return c >= 0x21 && c <= 0x7e; };
  return text.size() <= kMaxText && std::ranges::all_of(text, printable);
}

bool SnapshotOrder(const SnapshotItem& one, const SnapshotItem& other) {
  return std::pair(one.kind, one.key) < std::pair(other.kind, other.key);
}

void AppendSnapshotItem(const SnapshotItem& item, std::string* out) {
  ByteWriter writer;
  writer.Put(item.kind).Bytes(item.key.View()).Put(item.stored_bytes).Put(item.bytes);
  writer.Bytes(item.sha256.View()).Bytes(item.toolchain.View());
  PutText(writer, item.toolchain_version);
  PutText(writer, item.arch);
  PutText(writer, item.name_space);
  out->append(writer.Joined());
}

std::string TakeSnapshotItem(std::string_view* bytes, SnapshotItem* item) {
  if (bytes->size() < kLeastSnapshotItemBytes) return "is cut off";
  ByteReader reader(*bytes);
  item->kind = reader.TakeEnum(SnapshotKind::kArtifact, SnapshotKind::kDeposit);
  if (!reader.ok()) return "is of a kind that this version does not know";
  item->key = Digest{reader.Sha256()};
  item->stored_bytes = reader.Take<uint64_t>();
  item->bytes = reader.Take<uint64_t>();
  item->sha256 = Digest{reader.Sha256()};
  item->toolchain = Digest{reader.Sha256()};
  if (std::max(item->stored_bytes, item->bytes) > kMaxSnapshotRecordBytes) {
    return "is larger than a record may be";
  }
  item->toolchain_version = TakeText(reader);
  item->arch = TakeText(reader);
  item->name_space = TakeText(reader);
  *bytes = reader.rest();
  return reader.ok() ? "" : "has a malformed text";
}

std::string EncodeSnapshotTail(const SnapshotTail& tail) {
  return ByteWriter()
      .Put(tail.index_bytes)
      .Put(tail.count)
      .Bytes(tail.index_sha256.View())
      .Joined();
}

bool DecodeSnapshotTail(std::string_view bytes, SnapshotTail* tail, Digest* sha256) {
  if (bytes.size() != kSnapshotTailBytes || !bytes.ends_with(kSnapshotEnd)) return false;
  ByteReader reader(bytes);
  tail->index_bytes = reader.Take<uint64_t>();
  tail->count = reader.Take<uint32_t>();
  tail->index_sha256 = Digest{reader.Sha256()};
  *sha256 = Digest{reader.Sha256()};
  return true;
}

bool SnapshotWriter::Put(std::string_view bytes) {
  if (written_ == 0 && bytes != kSnapshotHead && !Put(kSnapshotHead)) return false;
  hasher_.Append(bytes);
  written_ += bytes.size();
  return sink_(bytes);
}

bool SnapshotWriter::Add(SnapshotItem item, std::string_view stored) {
  assert(tail_.count < kMaxSnapshotRecords && stored.size() <= kMaxSnapshotRecordBytes);
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
