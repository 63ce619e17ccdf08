// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/snapshot/snapshot_signature.h"

#include <algorithm>
#include <array>

#include "base/codec.h"

namespace cccl_cache {
namespace {

constexpr std::string_view kMagic = "CCCLSIG\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kRowBytes = 32;

std::string Rows(const std::vector<Digest>& fingerprints) {
  std::string rows;
  rows.reserve(fingerprints.size() * kRowBytes);
  for (const Digest& each : fingerprints) rows.append(each.View());
  return rows;
}

}  // namespace

std::string EncodeSnapshotSignature(const SnapshotSignature& signature, const SigningKey& key) {
  const std::string rows = Rows(signature.fingerprints);
  ByteWriter writer;
  writer.Bytes(kMagic).Put(kVersion).Bytes(key.public_key().View());
  writer.Put<uint64_t>(signature.time.time_since_epoch().count()).Put(signature.file_bytes);
  writer.Bytes(signature.index_sha256.View()).Count(signature.fingerprints.size());
  const std::string head = writer.Bytes(Sha256(rows).View()).Joined();
  return head + std::string(key.Sign(head).View()) + rows;
}

std::variant<SnapshotSignature, std::string> DecodeSnapshotSignature(
    std::string_view bytes, const std::function<bool(const PublicKey&)>& trusted) {
  Signature by;
  ByteReader reader(bytes);
  ByteReader head(reader.Bytes(kSignatureHeadBytes));
  std::ranges::copy(reader.Bytes(by.bytes.size()), by.bytes.begin());
  if (!reader.ok() || head.Bytes(kMagic.size()) != kMagic) {
    return std::string("it is no signature of a snapshot");
  }
  if (head.Take<uint32_t>() != kVersion) {
    return std::string("another version of cccl-cache-cli made it: sign the snapshot again");
  }
  SnapshotSignature signature;
  std::ranges::copy(head.Bytes(signature.signer.bytes.size()), signature.signer.bytes.begin());
  signature.time = std::chrono::sys_seconds(std::chrono::seconds(head.NonNegative()));
  signature.file_bytes = head.Take<uint64_t>();
  signature.index_sha256 = Digest{head.Sha256()};
  const auto count = head.Take<uint32_t>();
  const Digest rows_sha256{head.Sha256()};
  if (!trusted(signature.signer)) return "its key is not trusted: " + signature.signer.Hex();
  if (!Verify(signature.signer, bytes.substr(0, kSignatureHeadBytes), by)) {
    return std::string("it was altered: its signature does not match");
  }
  const std::string_view rows = reader.rest();
  if (!head.complete() || rows.size() != count * kRowBytes || Sha256(rows) != rows_sha256) {
    return std::string("it was altered or cut off");
  }
  ByteReader row(rows);
  signature.fingerprints.resize(count);
  for (Digest& each : signature.fingerprints) each = Digest{row.Sha256()};
  return signature;
}

}  // namespace cccl_cache
