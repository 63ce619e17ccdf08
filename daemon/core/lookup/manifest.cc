// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/manifest.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/codec.h"

namespace cccl_cache::daemon {
namespace {

// The format, version 4 (values: base/codec.h).
//
//   manifest = u32 version, u32 count, count * closure
//   closure  = u8 shows_paths, u8 owned, [u32 uid if owned], u32 count, count * entry
//              (a uid of a user of a container counts as none, and is not written)
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

// `place` is the index of the entry in its closure. `same_as` can't be greater.
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
  if (known.owner && IsContainerUser(*known.owner)) known.owner.reset();
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

/// What one closure contributes to a total that is limited.
struct Part {
  std::optional<Account> account;  ///< none: the closure has no owner
  uint64_t amount = 0;
};

/// Returns the index of the part that must be removed because the total exceeds `limit`. It is the
/// oldest part of the account that has most. Returns none if the total is within the limit. `parts`
/// must begin with the newest one.
std::optional<size_t> MustGo(std::span<const Part> parts, uint64_t limit) {
  const auto of_container = [](const Part& part) {
    return part.account && part.account->IsContainers();
  };
  std::map<std::optional<Account>, uint64_t> held;
  uint64_t in_all = 0;
  uint64_t in_containers = 0;
  for (const Part& part : parts) {
    held[part.account] += part.amount;
    in_all += part.amount;
    if (of_container(part)) in_containers += part.amount;
  }
  if (in_all <= limit) return std::nullopt;
  const auto weight = [&](const Part& part) {
    return std::pair(in_containers > limit / 2 && of_container(part), held[part.account]);
  };
  size_t loser = parts.size() - 1;
  for (size_t i = loser; i-- > 0;) {
    if (weight(parts[i]) > weight(parts[loser])) loser = i;
  }
  return loser;
}

}  // namespace

void Manifest::Add(KnownClosure closure, const FindAccount& find_account) {
  std::erase_if(closures, [&](const auto& known) { return known.closure == closure.closure; });
  closures.insert(closures.begin(), std::move(closure));
  std::vector<Part> counts;
  std::vector<Part> bytes;
  for (const KnownClosure& known : closures) {
    std::optional<Account> account;
    if (known.owner && find_account) account = find_account(*known.owner);
    if (known.owner && !account) account = Account(*known.owner);
    counts.push_back({account, 1});
    bytes.push_back({account, BytesOf(known.closure)});
  }
  const auto drop = [&](size_t place) {
    for (auto* parts : {&counts, &bytes}) parts->erase(parts->begin() + place);
    closures.erase(closures.begin() + place);
  };
  const std::optional<Account> own = counts.front().account;
  const auto is_own = [&](const Part& part) { return own && part.account == own; };
  for (size_t held = std::ranges::count_if(counts, is_own); held > kMaxClosuresOfAccount; --held) {
    const auto oldest = std::find_if(counts.rbegin(), counts.rend(), is_own);
    drop(counts.rend() - oldest - 1);
  }
  while (const auto loser = MustGo(counts, kMaxClosures)) drop(*loser);
  while (const auto loser = MustGo(bytes, kMaxBytes)) drop(*loser);
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
    const bool owned = known.owner && !IsContainerUser(*known.owner);
    writer.Put(known.shows_paths).Put(owned);
    if (owned) writer.Put<uint32_t>(*known.owner);
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

ArtifactPtr EntryOf(const Manifest& manifest) {
  auto entry = std::make_shared<Artifact>();
  entry->log = EncodeManifest(manifest);
  entry->compile_time = manifest.compile_time;
  return entry;
}

std::optional<Manifest> ManifestIn(const Artifact& entry) {
  std::optional<Manifest> manifest = DecodeManifest(entry.log);
  if (manifest) manifest->compile_time = entry.compile_time;
  return manifest;
}

}  // namespace cccl_cache::daemon
