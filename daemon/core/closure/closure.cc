// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/closure.h"

#include <algorithm>
#include <vector>

#include "proto/fingerprint.h"

namespace cccl_cache::daemon {

namespace {

// Returns the index after the last entry of the search that begins at `first`. A compiler that does
// not find a name in one root asks for it in the next. The caller is asked for all names of a
// search at once, because the later ones disclose no more than the first.
size_t EndOfSearch(const Closure& closure, size_t first) {
  const std::vector<ClosureEntry>& entries = closure.entries;
  bool absent = entries[first].kind == FileKind::kAbsent;
  size_t end = first + 1;
  for (; end < entries.size(); ++end) {
    if (entries[end].name.root == kToolchainRoot) continue;  // the daemon needs no caller for this
    if (!absent || entries[end].name.below != entries[first].name.below) break;
    absent = entries[end].kind == FileKind::kAbsent;
  }
  return end;
}

void Expect(const Closure& closure, size_t first, size_t end, ClosureOf whose,
            RequesterFiles& files) {
  std::vector<ExpectedFile> expected;
  expected.reserve(end - first);
  for (size_t i = first; i < end; ++i) {
    const ClosureEntry& entry = closure.entries[i];
    const bool fetch = whose == ClosureOf::kRequester && entry.kind == FileKind::kFile;
    expected.push_back({&entry.name, fetch ? &entry.digest : nullptr});
  }
  files.Expect(expected);
}

}  // namespace

uint64_t BytesOf(const Closure& closure) {
  uint64_t bytes = closure.entries.size() * sizeof(ClosureEntry);
  for (const ClosureEntry& entry : closure.entries) bytes += entry.name.below.size();
  return bytes;
}

bool IsOfToolchain(const Closure& closure) {
  return std::ranges::all_of(
      closure.entries, [](const ClosureEntry& entry) { return entry.name.root == kToolchainRoot; });
}

Digest KeyOf(const Digest& fingerprint, const Closure& closure) {
  if (closure.entries.empty()) return KeyWithoutClosure(fingerprint);
  std::vector<ClosureRecord> records;
  records.reserve(closure.entries.size());
  for (const ClosureEntry& entry : closure.entries) {
    records.push_back({entry.name.root, entry.name.below, static_cast<uint8_t>(entry.kind),
                       entry.digest, entry.same_as});
  }
  return KeyWithClosure(fingerprint, records);
}

std::optional<Error> FilesNeededFor(const ClosureEntry& entry, RequesterFiles& files) {
  const Result<SeenFile> seen = files.Compare(entry.name, entry.digest);
  if (seen || seen.error().code != ErrorCode::kFilesNeeded) return std::nullopt;
  return seen.error();
}

std::optional<Error> FilesNeededFor(const Closure& closure, RequesterFiles& files) {
  const size_t untrue = FirstUntrue(closure, files, ClosureOf::kOthers);
  if (untrue == closure.entries.size()) return std::nullopt;
  return FilesNeededFor(closure.entries[untrue], files);
}

size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose) {
  InodePlaces places;
  return FirstUntrue(closure, files, whose, &places);
}

size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose,
                   InodePlaces* places) {
  size_t expected = 0;  // Expect() was called for the entries before this index
  for (uint32_t i = 0; i < closure.entries.size(); ++i) {
    if (i == expected) {
      expected = whose == ClosureOf::kRequester ? closure.entries.size() : EndOfSearch(closure, i);
      Expect(closure, i, expected, whose, files);
    }
    const ClosureEntry& entry = closure.entries[i];
    const Result<SeenFile> seen = files.Compare(entry.name, entry.digest);
    if (!seen || seen->kind != entry.kind) return i;
    if (HasDigest(entry.kind) && seen->digest != entry.digest) return i;
    if (!HasInode(entry.kind)) continue;
    if (places->try_emplace(seen->inode, i).first->second != entry.same_as) return i;
  }
  return closure.entries.size();
}

}  // namespace cccl_cache::daemon
