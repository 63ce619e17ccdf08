// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/records.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/codec.h"
#include "daemon/core/lookup/entry.h"
#include "daemon/core/lookup/manifest.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kDigestBytes = sizeof(Digest::bytes);
// Maximum length of the name of a namespace, in bytes.
constexpr size_t kMaxNamespace = 128;

std::optional<Closure> DecodeClosure(std::string_view bytes) {
  if (bytes.empty()) return Closure{};
  std::optional<Manifest> manifest = DecodeManifest(bytes);
  const bool one = manifest && manifest->closures.size() == 1 &&
                   !manifest->closures.front().shows_paths && !manifest->closures.front().owner &&
                   !manifest->closures.front().closure.entries.empty();
  if (!one) return std::nullopt;
  return std::move(manifest->closures.front().closure);
}

// Returns whether the artifact may be inserted. Its parts go to clients with these digests
// unchanged, and a record may come from another user, so the digests are compared with the bytes.
bool IsSound(const Artifact& artifact) {
  return artifact.compile_time <= kMaxCompileTimeOfRecord && !artifact.parts.empty() &&
         std::ranges::all_of(artifact.parts, [](const ArtifactPart& part) {
           return Sha256(part.bytes) == part.sha256;
         });
}

}  // namespace

//   record   = fingerprint closure entry
//   fingerprint = 32 bytes
//   closure  = text               a manifest of this one closure; empty: there is none
//   entry    = text               docs/internals/entry-format.md; compile_time is 0 if
//                                 not known, at most kMaxCompileTimeOfRecord
std::string EncodeArtifactRecord(const ArtifactRecord& record) {
  std::string closure;
  if (!record.closure.entries.empty()) closure = EncodeManifest({{{.closure = record.closure}}});
  Artifact artifact = *record.artifact;
  artifact.compile_time =
      std::min<std::chrono::microseconds>(artifact.compile_time, kMaxCompileTimeOfRecord);
  const std::string entry = EncodeEntry(record.key(), artifact);
  return ByteWriter().Bytes(record.fingerprint.View()).Text(closure).Text(entry).Joined();
}

std::optional<ArtifactRecord> DecodeArtifactRecord(const Digest& key, std::string_view bytes) {
  ByteReader reader(bytes);
  const Digest fingerprint{reader.Sha256()};
  const std::string_view closure_bytes = reader.Text();
  const std::string_view entry = reader.Text();
  if (!reader.complete()) return std::nullopt;
  std::optional<Closure> closure = DecodeClosure(closure_bytes);
  if (!closure) return std::nullopt;
  ArtifactRecord record{fingerprint, *std::move(closure), nullptr};
  if (record.key() != key) return std::nullopt;
  record.artifact = DecodeEntry(key, entry);
  if (record.artifact == nullptr || !IsSound(*record.artifact)) return std::nullopt;
  return record;
}

//   deposit  = fields name_space contents
//   fields   = 32 bytes          the digest of the fields (proto/deposit_key.cc)
//   name_space, contents = text
std::string EncodeDepositCopy(const DepositCopy& copy) {
  return ByteWriter().Bytes(copy.fields.View()).Text(copy.name_space).Text(*copy.contents).Joined();
}

uint64_t ContentsSize(std::string_view name_space, uint64_t copy_bytes) {
  const uint64_t around = kDigestBytes + 2 * ByteReader::kEmptyText + name_space.size();
  return copy_bytes < around ? 0 : copy_bytes - around;
}

std::optional<DepositCopy> DecodeDepositCopy(const Digest& identity, std::string_view bytes) {
  ByteReader reader(bytes);
  const Digest fields{reader.Sha256()};
  const std::string_view name_space = reader.Text();
  const std::string_view contents = reader.Text();
  if (!reader.complete()) return std::nullopt;
  if (name_space.empty() || name_space.size() > kMaxNamespace) return std::nullopt;
  DepositCopy copy{std::string(name_space), fields, nullptr};
  if (copy.identity() != identity) return std::nullopt;
  copy.contents = std::make_shared<const std::string>(contents);
  return copy;
}

}  // namespace cccl_cache::daemon
