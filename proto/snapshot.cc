// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/snapshot.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cccl_cache {
namespace {

constexpr size_t kDigestBytes = sizeof(Digest::bytes);
constexpr size_t kMaxText = 255;

template <typename Integer>
void AppendInteger(Integer value, std::string* out) {
  for (size_t i = 0; i < sizeof(value); ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendText(std::string_view text, std::string* out) {
  assert(text.size() <= kMaxText);
  out->push_back(static_cast<char>(text.size()));
  out->append(text);
}

/// Takes values off the front, which the caller knows to be long enough but for texts.
class Values {
 public:
  explicit Values(std::string_view* bytes) : bytes_(bytes) {}

  template <typename Integer>
  Integer Take() {
    Integer value = 0;
    for (size_t i = 0; i < sizeof(value); ++i) {
      value |=
          static_cast<Integer>(static_cast<Integer>(static_cast<uint8_t>((*bytes_)[i])) << (8 * i));
    }
    bytes_->remove_prefix(sizeof(value));
    return value;
  }

  Digest TakeDigest() {
    const Digest digest = *Digest::FromBytes(bytes_->substr(0, kDigestBytes));
    bytes_->remove_prefix(kDigestBytes);
    return digest;
  }

  /// False: it is cut off, or no such text.
  bool TakeText(std::string* text) {
    if (bytes_->empty()) return false;
    const size_t length = Take<uint8_t>();
    if (length > bytes_->size()) return false;
    *text = bytes_->substr(0, length);
    bytes_->remove_prefix(length);
    return IsSnapshotText(*text);
  }

 private:
  std::string_view* const bytes_;
};

}  // namespace

bool IsSnapshotText(std::string_view text) {
  const auto printable = [](char c) { return c >= 0x21 && c <= 0x7e; };
  return text.size() <= kMaxText && std::ranges::all_of(text, printable);
}

bool SnapshotOrder(const SnapshotItem& one, const SnapshotItem& other) {
  return std::pair(one.kind, one.key) < std::pair(other.kind, other.key);
}

void AppendSnapshotItem(const SnapshotItem& item, std::string* out) {
  AppendInteger(static_cast<uint8_t>(item.kind), out);
  out->append(item.key.View());
  AppendInteger(item.stored_bytes, out);
  AppendInteger(item.bytes, out);
  out->append(item.sha256.View());
  out->append(item.toolchain.View());
  AppendText(item.toolchain_version, out);
  AppendText(item.arch, out);
  AppendText(item.name_space, out);
}

std::string TakeSnapshotItem(std::string_view* bytes, SnapshotItem* item) {
  if (bytes->size() < kLeastSnapshotItemBytes) return "is cut off";
  Values values(bytes);
  const auto kind = values.Take<uint8_t>();
  if (kind != static_cast<uint8_t>(SnapshotKind::kArtifact) &&
      kind != static_cast<uint8_t>(SnapshotKind::kDeposit)) {
    return "is of a kind that this version does not know";
  }
  item->kind = static_cast<SnapshotKind>(kind);
  item->key = values.TakeDigest();
  item->stored_bytes = values.Take<uint64_t>();
  item->bytes = values.Take<uint64_t>();
  item->sha256 = values.TakeDigest();
  item->toolchain = values.TakeDigest();
  if (std::max(item->stored_bytes, item->bytes) > kMaxSnapshotRecordBytes) {
    return "is larger than a record may be";
  }
  const bool texts = values.TakeText(&item->toolchain_version) && values.TakeText(&item->arch) &&
                     values.TakeText(&item->name_space);
  return texts ? "" : "has a malformed text";
}

std::string EncodeSnapshotTail(const SnapshotTail& tail) {
  std::string bytes;
  AppendInteger(tail.index_bytes, &bytes);
  AppendInteger(tail.count, &bytes);
  bytes.append(tail.index_sha256.View());
  return bytes;
}

bool DecodeSnapshotTail(std::string_view bytes, SnapshotTail* tail, Digest* sha256) {
  if (bytes.size() != kSnapshotTailBytes || !bytes.ends_with(kSnapshotEnd)) return false;
  Values values(&bytes);
  tail->index_bytes = values.Take<uint64_t>();
  tail->count = values.Take<uint32_t>();
  tail->index_sha256 = values.TakeDigest();
  *sha256 = values.TakeDigest();
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
