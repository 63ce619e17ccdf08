// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/manifest.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 4 (values: base/codec.h).
//
//   manifest = u32 version, u32 count, count * closure
//   closure  = u8 shows_paths, u8 owned, [u32 uid if owned], u32 count, count * entry
//   entry    = u32 root, text name, u8 kind, [32 bytes digest if a file or the toolchain's],
//              [u32 same_as unless absent]
constexpr uint32_t kManifestVersion = 4;
static_assert(kMaxClosureNames * sizeof(ClosureEntry) + kMaxClosureNameBytes <=
              Manifest::kMaxBytes);
constexpr size_t kClosureMinimum = 2 * sizeof(uint8_t) + sizeof(uint32_t);
constexpr size_t kEntryMinimum = sizeof(uint32_t) + ByteReader::kEmptyText + sizeof(uint8_t);

void Put(ByteWriter& writer, const ClosureEntry& entry) {
  writer.Put(entry.name.root).Text(entry.name.below).Put(entry.kind);
  if (HasDigest(entry.kind)) writer.Bytes(entry.digest.View());
  if (entry.kind != FileKind::kAbsent) writer.Put(entry.same_as);
}

// `place`: index of the entry in its closure.
ClosureEntry TakeEntry(ByteReader& reader, uint32_t place) {
  ClosureEntry entry;
  entry.name.root = reader.Take<uint32_t>();
  entry.name.below = reader.Text();
  entry.kind = reader.TakeEnum(FileKind::kAbsent, FileKind::kToolchain);
  if (entry.kind == FileKind::kAbsent) return entry;
  if ((entry.name.root == kToolchainRoot) != (entry.kind == FileKind::kToolchain)) reader.Fail();
  if (HasDigest(entry.kind)) entry.digest = Digest{reader.Sha256()};
  entry.same_as = reader.Take<uint32_t>();
  if (entry.same_as > place) reader.Fail();
  return entry;
}

KnownClosure TakeClosure(ByteReader& reader) {
  KnownClosure known{.closure = {}, .shows_paths = reader.Flag()};
  if (reader.Flag()) known.owner = reader.Take<uint32_t>();
  const size_t count = reader.Count(kEntryMinimum);
  if (count > kMaxClosureNames) {
    reader.Fail();
    return known;
  }
  known.closure.entries.reserve(count);
  uint64_t name_bytes = 0;
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    known.closure.entries.push_back(TakeEntry(reader, i));
    name_bytes += known.closure.entries.back().name.below.size();
    if (name_bytes > kMaxClosureNameBytes) reader.Fail();
  }
  return known;
}

}  // namespace

void Manifest::Add(KnownClosure closure) {
  std::erase_if(closures, [&](const auto& known) { return known.closure == closure.closure; });
  const std::optional<uid_t> owner = closure.owner;
  closures.insert(closures.begin(), std::move(closure));
  size_t of_owner = 0;
  std::erase_if(closures, [&](const KnownClosure& known) {
    return owner && known.owner == owner && ++of_owner > kMaxClosuresOfOwner;
  });
  if (closures.size() > kMaxClosures) closures.resize(kMaxClosures);
  uint64_t bytes = 0;
  const auto too_much = std::ranges::find_if(closures, [&](const KnownClosure& known) {
    return (bytes += BytesOf(known.closure)) > kMaxBytes;
  });
  closures.erase(too_much, closures.end());
}

const KnownClosure* Manifest::FindTrue(RequesterFiles& files,
                                       std::span<const ClosureOf> whose) const {
  for (const ClosureOf owner : {ClosureOf::kRequester, ClosureOf::kOthers}) {
    for (size_t i = 0; i < closures.size(); ++i) {
      if (whose[i] != owner) continue;
      const Closure& closure = closures[i].closure;
      if (FirstUntrue(closure, files, owner) == closure.entries.size()) return &closures[i];
    }
  }
  return nullptr;
}

const KnownClosure* Manifest::FindTrueWith(const Toolchain& toolchain) const {
  const auto is_true = [&](const KnownClosure& known) {
    if (!IsOfToolchain(known.closure)) return false;
    if (const auto remembered = known.true_of.Find(toolchain.serial)) return *remembered;
    const bool all = std::ranges::all_of(known.closure.entries, [&](const ClosureEntry& entry) {
      const auto seen = SeenIn(*toolchain.contents, entry.name);
      return seen && seen->kind == entry.kind && seen->digest == entry.digest;
    });
    known.true_of.Remember(toolchain.serial, all);
    return all;
  };
  const auto found = std::ranges::find_if(closures, is_true);
  return found == closures.end() ? nullptr : &*found;
}

bool Manifest::SaysMoreThan(const Manifest& before) const {
  return std::ranges::any_of(closures, [&](const KnownClosure& known) {
    return std::ranges::none_of(before.closures, [&](const KnownClosure& other) {
      return other.key == known.key && other.shows_paths == known.shows_paths;
    });
  });
}

Digest ManifestKey(const Digest& fingerprint) {
  Hasher hasher;
  hasher.AppendValue("manifest", fingerprint.View());
  return hasher.Finish();
}

std::string EncodeManifest(const Manifest& manifest) {
  ByteWriter writer;
  writer.Put(kManifestVersion).Count(manifest.closures.size());
  for (const KnownClosure& known : manifest.closures) {
    writer.Put(known.shows_paths).Put(known.owner.has_value());
    if (known.owner) writer.Put<uint32_t>(*known.owner);
    writer.Count(known.closure.entries.size());
    for (const ClosureEntry& entry : known.closure.entries) Put(writer, entry);
  }
  return writer.Joined();
}

std::optional<Manifest> DecodeManifest(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.Take<uint32_t>() != kManifestVersion) return std::nullopt;
  const size_t count = reader.Count(kClosureMinimum);
  if (count > Manifest::kMaxClosures) return std::nullopt;
  Manifest manifest;
  uint64_t closure_bytes = 0;
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    manifest.closures.push_back(TakeClosure(reader));
    closure_bytes += BytesOf(manifest.closures.back().closure);
    if (closure_bytes > Manifest::kMaxBytes) reader.Fail();
  }
  if (!reader.complete()) return std::nullopt;
  return manifest;
}

}  // namespace cccl_cache::daemon
