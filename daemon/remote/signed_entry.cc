// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/signed_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/codec.h"
#include "daemon/core/lookup/entry.h"
#include "daemon/core/lookup/manifest.h"
#include "proto/compression.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 1 (values: base/codec.h).
//
//   signed    = head signature compressed
//   head      = magic version kind key toolchain signer time raw_bytes sha256
//   magic     = "CCCLSGN\n"
//   version   = u32                    1; another number if the format changes
//   kind      = u8                     EntryKind; stored, so values never change
//   key, toolchain = 32 bytes          fields of the EntryName
//   signer    = 32 bytes               public key
//   time      = u64                    time of the signature: seconds since 1970, below 2^63
//   raw_bytes = u32                    size of the entry before compression
//   sha256    = 32 bytes               digest of `compressed`
//   signature = 64 bytes               Ed25519 signature of the head
//   compressed = one zstd frame that states its content size: EncodeEntry(key, artifact). If the
//                entry is of another kind, it is the log of an artifact without parts. The compile
//                time is that of the deposit; 0 of earlier versions, which ignore it.
//
// The signature covers the compressed bytes through their digest. So bytes from an unknown signer
// are never decompressed, and only a head of fixed size is parsed. The head begins with the magic,
// so that a signature made for another purpose is not valid here.
constexpr std::string_view kSignedMagic = "CCCLSGN\n";
constexpr uint32_t kSignedVersion = 1;
constexpr size_t kHeadBytes = kSignedMagic.size() + 4 + 1 + 3 * 32 + 8 + 4 + 32;

struct Head {
  EntryName name;
  PublicKey signer;
  std::chrono::sys_seconds time;
  uint32_t raw_bytes = 0;
  Digest sha256;
};

std::string EncodeHead(const Head& head) {
  ByteWriter writer;
  writer.Bytes(kSignedMagic).Put(kSignedVersion).Put(head.name.kind);
  writer.Bytes(head.name.key.View()).Bytes(head.name.toolchain.View()).Bytes(head.signer.View());
  writer.Put<uint64_t>(head.time.time_since_epoch().count()).Put(head.raw_bytes);
  return writer.Bytes(head.sha256.View()).Joined();
}

std::optional<Head> DecodeHead(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.Bytes(kSignedMagic.size()) != kSignedMagic) return std::nullopt;
  if (reader.Take<uint32_t>() != kSignedVersion) return std::nullopt;
  Head head;
  head.name.kind = reader.TakeEnum(EntryKind::kArtifact, EntryKind::kChunkList);
  head.name.key = Digest{reader.Sha256()};
  head.name.toolchain = Digest{reader.Sha256()};
  std::ranges::copy(reader.Bytes(head.signer.bytes.size()), head.signer.bytes.begin());
  head.time = std::chrono::sys_seconds(std::chrono::seconds(reader.NonNegative()));
  head.raw_bytes = reader.Take<uint32_t>();
  head.sha256 = Digest{reader.Sha256()};
  return reader.complete() ? std::optional(head) : std::nullopt;
}

std::string Encode(const Digest& key, const SharedEntry& entry) {
  if (entry.artifact != nullptr) return EncodeEntry(key, *entry.artifact);
  if (entry.manifest != nullptr) return EncodeEntry(key, *EntryOf(*entry.manifest));
  Artifact envelope;
  envelope.compile_time = entry.took;
  envelope.log = *entry.deposit;
  return EncodeEntry(key, envelope);
}

/// Returns an empty entry if the bytes are malformed.
SharedEntry Decode(const EntryName& name, std::string_view bytes) {
  ArtifactPtr artifact = DecodeEntry(name.key, bytes);
  if (artifact == nullptr || name.kind == EntryKind::kArtifact) return {.artifact = artifact};
  if (name.kind != EntryKind::kManifest) {
    return {.deposit = std::make_shared<const std::string>(artifact->log),
            .took = artifact->compile_time};
  }
  auto manifest = ManifestIn(*artifact);
  if (!manifest) return {};
  return {.manifest = std::make_shared<const Manifest>(*std::move(manifest))};
}

bool Same(const EntryName& one, const EntryName& other) {
  return one.kind == other.kind && one.key == other.key && one.toolchain == other.toolchain;
}

bool InTime(std::chrono::sys_seconds time, const OpeningRules& rules) {
  if (time > rules.now) return time - rules.now <= kMaxClockAhead;
  return rules.now - time <= rules.max_age;
}

}  // namespace

uint64_t FootprintOf(const SharedEntry& entry) {
  if (entry.artifact != nullptr) return entry.artifact->Footprint();
  if (entry.deposit != nullptr) return entry.deposit->size();
  uint64_t bytes = sizeof(Manifest);
  for (const KnownClosure& known : entry.manifest->closures) {
    bytes += sizeof(KnownClosure) + BytesOf(known.closure);
  }
  return bytes;
}

uint64_t EncodedSizeOf(const SharedEntry& entry) {
  return entry.manifest != nullptr ? EncodeManifest(*entry.manifest).size() : FootprintOf(entry);
}

Result<std::string> SignEntry(const EntryName& name, const SharedEntry& entry,
                              const SigningKey& key, std::chrono::sys_seconds signed_at) {
  const std::string raw = Encode(name.key, entry);
  if (raw.size() > std::numeric_limits<uint32_t>::max()) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("an entry of {} bytes is too large to be shared", raw.size())};
  }
  // Uses fast compression, because each compile compresses an entry, but few entries are read.
  const std::optional<std::string> compressed = Compress(raw, kFastCompression);
  if (!compressed) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("no memory to compress {} bytes", raw.size())};
  }
  std::string bytes = EncodeHead(
      {name, key.public_key(), signed_at, static_cast<uint32_t>(raw.size()), Sha256(*compressed)});
  const Signature signature = key.Sign(bytes);
  return bytes.append(signature.View()).append(*compressed);
}

std::variant<SharedEntry, EntryRefusal> OpenEntry(const EntryName& asked, std::string_view bytes,
                                                  const OpeningRules& rules) {
  Signature signature;
  if (bytes.size() <= kHeadBytes + signature.bytes.size()) return EntryRefusal::kMalformed;
  const std::string_view signed_bytes = bytes.substr(0, kHeadBytes);
  const std::string_view compressed = bytes.substr(kHeadBytes + signature.bytes.size());
  const auto head = DecodeHead(signed_bytes);
  if (!head) return EntryRefusal::kMalformed;
  if (!Same(head->name, asked)) return EntryRefusal::kOtherKey;
  if (!rules.trusted.Holds(head->signer)) return EntryRefusal::kUntrusted;
  std::ranges::copy(bytes.substr(kHeadBytes, signature.bytes.size()), signature.bytes.begin());
  if (!Verify(head->signer, signed_bytes, signature)) return EntryRefusal::kForged;
  if (!InTime(head->time, rules)) return EntryRefusal::kExpired;
  if (head->raw_bytes > rules.max_bytes) return EntryRefusal::kTooLarge;
  if (Sha256(compressed) != head->sha256) return EntryRefusal::kCorrupt;
  const auto raw = Decompress(compressed, head->raw_bytes);
  if (!raw) return EntryRefusal::kCorrupt;
  SharedEntry entry = Decode(asked, *raw);
  if (!entry) return EntryRefusal::kCorrupt;
  return entry;
}

Counter CounterOf(EntryRefusal refusal) {
  switch (refusal) {
    case EntryRefusal::kMalformed:
      return Counter::kRemoteMalformed;
    case EntryRefusal::kOtherKey:
      return Counter::kRemoteOtherKey;
    case EntryRefusal::kUntrusted:
      return Counter::kRemoteUntrusted;
    case EntryRefusal::kForged:
      return Counter::kRemoteForged;
    case EntryRefusal::kExpired:
      return Counter::kRemoteExpired;
    case EntryRefusal::kTooLarge:
      return Counter::kRemoteTooLarge;
    case EntryRefusal::kCorrupt:
      return Counter::kRemoteCorrupt;
  }
  return Counter::kRemoteCorrupt;
}

const char* WhyRefused(EntryRefusal refusal) {
  switch (refusal) {
    case EntryRefusal::kMalformed:
      return "malformed: it is no entry, or was cut off";
    case EntryRefusal::kOtherKey:
      return "it was signed for another key";
    case EntryRefusal::kUntrusted:
      return "untrusted: no key that this node trusts signed it";
    case EntryRefusal::kForged:
      return "forged: its signer did not sign this";
    case EntryRefusal::kExpired:
      return "expired: it was signed too long ago, or in the future";
    case EntryRefusal::kTooLarge:
      return "it is larger than this node takes";
    case EntryRefusal::kCorrupt:
      break;
  }
  return "corrupt: its contents are not what was signed, or no entry that this version reads";
}

}  // namespace cccl_cache::daemon
