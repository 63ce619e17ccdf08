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
//   entry    = u32 root, string name, u8 kind, [32 bytes digest if a file or the toolchain's],
//              [u32 same_as unless absent]
constexpr uint32_t kVersion = 4;
static_assert(kMaxClosureNames * sizeof(ClosureEntry) + kMaxClosureNameBytes <=
              Manifest::kMaxBytes);
constexpr size_t kClosureMinimum = 2 * sizeof(uint8_t) + sizeof(uint32_t);
constexpr size_t kEntryMinimum = sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint8_t);

void AppendEntry(std::string& out, const ClosureEntry& entry) {
  AppendInteger(out, entry.name.root);
  AppendString(out, entry.name.below);
  AppendInteger(out, static_cast<uint8_t>(entry.kind));
  if (HasDigest(entry.kind)) out.append(entry.digest.View());
  if (entry.kind != FileKind::kAbsent) AppendInteger(out, entry.same_as);
}

// `place`: index of the entry in its closure.
std::optional<ClosureEntry> TakeEntry(ByteReader& reader, uint32_t place) {
  ClosureEntry entry;
  const auto root = reader.TakeInteger<uint32_t>();
  const auto name = reader.TakeString();
  const auto kind = reader.TakeInteger<uint8_t>();
  if (!root || !name || !kind || *kind > static_cast<uint8_t>(FileKind::kToolchain)) {
    return std::nullopt;
  }
  entry.name = {*root, std::string(*name)};
  entry.kind = static_cast<FileKind>(*kind);
  const bool of_toolchain = entry.name.root == kToolchainRoot;
  if (entry.kind != FileKind::kAbsent && of_toolchain != (entry.kind == FileKind::kToolchain)) {
    return std::nullopt;
  }
  if (entry.kind == FileKind::kAbsent) return entry;
  if (HasDigest(entry.kind)) {
    const auto digest = Digest::FromBytes(reader.Take(sizeof(Digest::bytes)).value_or(""));
    if (!digest) return std::nullopt;
    entry.digest = *digest;
  }
  const auto same_as = reader.TakeInteger<uint32_t>();
  if (!same_as || *same_as > place) return std::nullopt;
  entry.same_as = *same_as;
  return entry;
}

std::optional<KnownClosure> TakeClosure(ByteReader& reader) {
  const auto shows_paths = reader.TakeInteger<uint8_t>();
  const auto owned = reader.TakeInteger<uint8_t>();
  if (!shows_paths || *shows_paths > 1 || !owned || *owned > 1) return std::nullopt;
  KnownClosure known{.closure = {}, .shows_paths = *shows_paths == 1};
  if (*owned == 1) {
    known.owner = reader.TakeInteger<uint32_t>();
    if (!known.owner) return std::nullopt;
  }
  const auto count = reader.TakeCount(kEntryMinimum);
  if (!count || *count > kMaxClosureNames) return std::nullopt;
  known.closure.entries.reserve(*count);
  uint64_t name_bytes = 0;
  for (uint32_t i = 0; i < *count; ++i) {
    auto entry = TakeEntry(reader, i);
    if (!entry) return std::nullopt;
    name_bytes += entry->name.below.size();
    if (name_bytes > kMaxClosureNameBytes) return std::nullopt;
    known.closure.entries.push_back(*std::move(entry));
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
    return known.owner == owner && ++of_owner > kMaxClosuresOfOwner;
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
  std::string out;
  AppendInteger(out, kVersion);
  AppendInteger(out, static_cast<uint32_t>(manifest.closures.size()));
  for (const KnownClosure& known : manifest.closures) {
    AppendInteger(out, static_cast<uint8_t>(known.shows_paths ? 1 : 0));
    AppendInteger(out, static_cast<uint8_t>(known.owner ? 1 : 0));
    if (known.owner) AppendInteger(out, static_cast<uint32_t>(*known.owner));
    AppendInteger(out, static_cast<uint32_t>(known.closure.entries.size()));
    for (const ClosureEntry& entry : known.closure.entries) AppendEntry(out, entry);
  }
  return out;
}

std::optional<Manifest> DecodeManifest(std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.TakeInteger<uint32_t>() != kVersion) return std::nullopt;
  const auto count = reader.TakeCount(kClosureMinimum);
  if (!count || *count > Manifest::kMaxClosures) return std::nullopt;
  Manifest manifest;
  uint64_t closure_bytes = 0;
  for (uint32_t i = 0; i < *count; ++i) {
    auto closure = TakeClosure(reader);
    if (!closure) return std::nullopt;
    closure_bytes += BytesOf(closure->closure);
    if (closure_bytes > Manifest::kMaxBytes) return std::nullopt;
    manifest.closures.push_back(*std::move(closure));
  }
  if (!reader.at_end()) return std::nullopt;
  return manifest;
}

}  // namespace cccl_cache::daemon
