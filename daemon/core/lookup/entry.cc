// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/entry.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "base/codec.h"
#include "daemon/core/model/limits.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 1 (values: base/codec.h).
//
//   entry   = magic version key body checksum
//   magic   = "CCCLENT\n"
//   version = u32                      1; a change of meaning bumps it
//   key     = 32 bytes                 what the entry is stored under
//   body    = compile_time log parts names
//   compile_time = u64                 microseconds, below 2^63
//   log     = text
//   parts   = u32 count, count * part  at most kMaxParts
//   part    = kind sha256 text         the digest is that of the text's bytes
//   kind    = u8                       ArtifactKind; 5: LTO-IR made with a precompiled header;
//                                      stored, so values never change
//   names   = u32 count, count * (text text)      name expression, lowered name; at most kMaxListed
//   checksum = SHA-256 of all bytes before it
//
// The checksum covers the bytes of parts and their digests, so decoding hashes each byte once and
// uses the digests as they are: an attacker that can forge a digest can forge the checksum too. It
// protects against decay, not against forgery. Entries from other nodes are signed outside this
// format.
constexpr std::string_view kMagic = "CCCLENT\n";
constexpr uint32_t kEntryVersion = 1;
// An artifact has at most one part of each kind.
constexpr uint32_t kMaxParts = 4;
constexpr auto kFirstKind = static_cast<uint8_t>(ArtifactKind::kPtx);
constexpr uint8_t kPrecompiledLtoIr = 5;
static_assert(static_cast<uint8_t>(ArtifactKind::kOptixIr) + 1 == kPrecompiledLtoIr);
constexpr size_t kPartMinimum = 1 + sizeof(Digest::bytes) + ByteReader::kEmptyText;
constexpr size_t kNameMinimum = 2 * ByteReader::kEmptyText;

/// Returns the bytes between the key and the checksum. None if the magic bytes, the version, the
/// key or the checksum are wrong.
std::optional<std::string_view> VerifiedBody(const Digest& key_asked, std::string_view bytes) {
  if (bytes.size() < sizeof(Digest::bytes)) return std::nullopt;
  const std::string_view sealed = bytes.substr(0, bytes.size() - sizeof(Digest::bytes));
  ByteReader header(sealed);
  if (header.Bytes(kMagic.size()) != kMagic) return std::nullopt;
  if (header.Take<uint32_t>() != kEntryVersion) return std::nullopt;
  if (header.Bytes(sizeof(Digest::bytes)) != key_asked.View()) return std::nullopt;
  // The checksum is compared last, because hashing all bytes is the only expensive check.
  if (Sha256(sealed).View() != bytes.substr(sealed.size())) return std::nullopt;
  return sealed.substr(kMagic.size() + sizeof(kEntryVersion) + sizeof(Digest::bytes));
}

uint8_t StoredKind(const ArtifactPart& part) {
  return part.precompiled ? kPrecompiledLtoIr : static_cast<uint8_t>(part.kind);
}

void DecodeKind(ByteReader& body, ArtifactPart& part) {
  const uint8_t kind = body.TakeEnum(kFirstKind, kPrecompiledLtoIr);
  part.precompiled = kind == kPrecompiledLtoIr;
  part.kind = part.precompiled ? ArtifactKind::kLtoIr : static_cast<ArtifactKind>(kind);
}

void DecodeParts(ByteReader& body, Artifact& artifact) {
  const size_t count = body.Count(kPartMinimum);
  if (count > kMaxParts) return body.Fail();
  artifact.parts.resize(count);
  for (ArtifactPart& part : artifact.parts) {
    DecodeKind(body, part);
    part.sha256 = Digest{body.Sha256()};
    part.bytes = body.Text();
  }
}

void DecodeNames(ByteReader& body, Artifact& artifact) {
  const size_t count = body.Count(kNameMinimum);
  if (count > kMaxListed) return body.Fail();
  artifact.lowered_names.resize(count);
  for (auto& [expression, lowered] : artifact.lowered_names) {
    expression = body.Text();
    lowered = body.Text();
  }
}

}  // namespace

std::string EncodeEntry(const Digest& key, const Artifact& artifact) {
  ByteWriter writer;
  writer.Bytes(kMagic).Put(kEntryVersion).Bytes(key.View());
  writer.Put<uint64_t>(artifact.compile_time.count()).Text(artifact.log);
  writer.Count(artifact.parts.size());
  for (const ArtifactPart& part : artifact.parts) {
    writer.Put(StoredKind(part)).Bytes(part.sha256.View()).Text(part.bytes);
  }
  writer.Count(artifact.lowered_names.size());
  for (const auto& [expression, lowered] : artifact.lowered_names) {
    writer.Text(expression).Text(lowered);
  }
  std::string entry = writer.Joined(sizeof(Digest::bytes));
  return entry.append(Sha256(entry).View());
}

ArtifactPtr DecodeEntry(const Digest& key_asked, std::string_view bytes) {
  const auto verified = VerifiedBody(key_asked, bytes);
  if (!verified) return nullptr;
  ByteReader body(*verified);
  auto artifact = std::make_shared<Artifact>();
  artifact->compile_time = std::chrono::microseconds(body.NonNegative());
  artifact->log = body.Text();
  DecodeParts(body, *artifact);
  DecodeNames(body, *artifact);
  if (!body.complete()) return nullptr;
  return artifact;
}

}  // namespace cccl_cache::daemon
