// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/entry.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/codec.h"
#include "daemon/core/model/limits.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 1. Integers are little endian; nothing is padded or aligned.
//
//   entry   = magic version key body checksum
//   magic   = "CCCLENT\n"
//   version = u32                      1; a change of meaning bumps it
//   key     = 32 bytes                 what the entry is stored under
//   body    = compile_time log parts names
//   compile_time = u64                 microseconds, below 2^63
//   log     = string
//   parts   = u32 count, count * part  at most kMaxParts
//   part    = kind sha256 string       the digest is that of the string's bytes
//   kind    = u8                       ArtifactKind; stored, so values never change
//   names   = u32 count, count * (string string)      name expression, lowered name; at most
//                                                     kMaxListed
//   string  = u64 length, length bytes
//   checksum = SHA-256 of all bytes before it
//
// The checksum covers part bytes and part digests alike, so decoding hashes each byte once and
// takes the digests as they are: an attacker that can forge one can forge the checksum too. It
// guards against decay, not against forgery; what comes from another node is signed outside this
// format.
constexpr std::string_view kMagic = "CCCLENT\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kDigestSize = sizeof(Digest::bytes);
constexpr size_t kStringMinimum = sizeof(uint64_t);
// One of each kind.
constexpr uint32_t kMaxParts = 4;
constexpr size_t kPartMinimum = 1 + kDigestSize + kStringMinimum;
constexpr size_t kNameMinimum = 2 * kStringMinimum;

size_t EncodedSize(const Artifact& artifact) {
  size_t size = kMagic.size() + sizeof(kVersion) + kDigestSize + sizeof(uint64_t) + kStringMinimum +
                artifact.log.size() + 2 * sizeof(uint32_t) + kDigestSize;
  for (const ArtifactPart& part : artifact.parts) size += kPartMinimum + part.bytes.size();
  for (const auto& [expression, lowered] : artifact.lowered_names) {
    size += kNameMinimum + expression.size() + lowered.size();
  }
  return size;
}

bool IsArtifactKind(uint8_t value) {
  switch (static_cast<ArtifactKind>(value)) {
    case ArtifactKind::kPtx:
    case ArtifactKind::kCubin:
    case ArtifactKind::kLtoIr:
    case ArtifactKind::kOptixIr:
      return true;
  }
  return false;
}

/// Returns the bytes between the key and the checksum; none unless version, key and checksum are
/// right.
std::optional<std::string_view> VerifiedBody(const Digest& key_asked, std::string_view bytes) {
  if (bytes.size() < kDigestSize) return std::nullopt;
  const std::string_view sealed = bytes.substr(0, bytes.size() - kDigestSize);
  ByteReader header(sealed);
  if (header.Take(kMagic.size()) != kMagic) return std::nullopt;
  if (header.TakeInteger<uint32_t>() != kVersion) return std::nullopt;
  if (header.Take(kDigestSize) != key_asked.View()) return std::nullopt;
  // Last, because only this check is expensive.
  if (Sha256(sealed).View() != bytes.substr(sealed.size())) return std::nullopt;
  return sealed.substr(kMagic.size() + sizeof(kVersion) + kDigestSize);
}

bool DecodeParts(ByteReader& body, Artifact& artifact) {
  const auto count = body.TakeCount(kPartMinimum);
  if (!count || *count > kMaxParts) return false;
  artifact.parts.reserve(*count);
  for (uint32_t i = 0; i < *count; ++i) {
    const auto kind = body.TakeInteger<uint8_t>();
    if (!kind || !IsArtifactKind(*kind)) return false;
    const auto sha256 = Digest::FromBytes(body.Take(kDigestSize).value_or(""));
    const auto contents = body.TakeString();
    if (!sha256 || !contents) return false;
    artifact.parts.push_back({static_cast<ArtifactKind>(*kind), std::string(*contents), *sha256});
  }
  return true;
}

bool DecodeNames(ByteReader& body, Artifact& artifact) {
  const auto count = body.TakeCount(kNameMinimum);
  if (!count || *count > kMaxListed) return false;
  artifact.lowered_names.reserve(*count);
  for (uint32_t i = 0; i < *count; ++i) {
    const auto expression = body.TakeString();
    const auto lowered = body.TakeString();
    if (!expression || !lowered) return false;
    artifact.lowered_names.emplace_back(*expression, *lowered);
  }
  return true;
}

}  // namespace

std::string EncodeEntry(const Digest& key, const Artifact& artifact) {
  std::string entry;
  entry.reserve(EncodedSize(artifact));
  entry.append(kMagic);
  AppendInteger(entry, kVersion);
  entry.append(key.View());
  AppendInteger(entry, static_cast<uint64_t>(artifact.compile_time.count()));
  AppendString(entry, artifact.log);
  AppendInteger(entry, static_cast<uint32_t>(artifact.parts.size()));
  for (const ArtifactPart& part : artifact.parts) {
    AppendInteger(entry, static_cast<uint8_t>(part.kind));
    entry.append(part.sha256.View());
    AppendString(entry, part.bytes);
  }
  AppendInteger(entry, static_cast<uint32_t>(artifact.lowered_names.size()));
  for (const auto& [expression, lowered] : artifact.lowered_names) {
    AppendString(entry, expression);
    AppendString(entry, lowered);
  }
  entry.append(Sha256(entry).View());
  return entry;
}

ArtifactPtr DecodeEntry(const Digest& key_asked, std::string_view bytes) {
  const auto verified = VerifiedBody(key_asked, bytes);
  if (!verified) return nullptr;
  ByteReader body(*verified);
  auto artifact = std::make_shared<Artifact>();
  const auto compile_time = body.TakeInteger<uint64_t>();
  const auto log = body.TakeString();
  if (!compile_time || !log) return nullptr;
  if (*compile_time > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return nullptr;
  artifact->compile_time = std::chrono::microseconds(static_cast<int64_t>(*compile_time));
  artifact->log = *log;
  if (!DecodeParts(body, *artifact) || !DecodeNames(body, *artifact)) return nullptr;
  if (!body.at_end()) return nullptr;
  return artifact;
}

}  // namespace cccl_cache::daemon
