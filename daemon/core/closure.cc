// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure.h"

#include <vector>

#include "proto/fingerprint.h"

namespace cccl_cached {

using cccl_cache::Digest;

uint64_t BytesOf(const Closure& closure) {
  uint64_t bytes = closure.entries.size() * sizeof(ClosureEntry);
  for (const ClosureEntry& entry : closure.entries) bytes += entry.name.below.size();
  return bytes;
}

Digest KeyOf(const Digest& fingerprint, const Closure& closure) {
  if (closure.entries.empty()) return cccl_cache::KeyWithoutClosure(fingerprint);
  std::vector<cccl_cache::ClosureRecord> records;
  records.reserve(closure.entries.size());
  for (const ClosureEntry& entry : closure.entries) {
    records.push_back({entry.name.root, entry.name.below, static_cast<uint8_t>(entry.kind),
                       entry.digest, entry.same_as});
  }
  return cccl_cache::KeyWithClosure(fingerprint, records);
}

std::optional<Error> FilesNeededFor(const FileName& name, RequesterFiles& files) {
  const Result<SeenFile> seen = files.Look(name);
  if (seen || seen.error().code != ErrorCode::kFilesNeeded) return std::nullopt;
  return seen.error();
}

std::optional<Error> FilesNeededFor(const Closure& closure, RequesterFiles& files) {
  const size_t untrue = FirstUntrue(closure, files);
  if (untrue == closure.entries.size()) return std::nullopt;
  return FilesNeededFor(closure.entries[untrue].name, files);
}

size_t FirstUntrue(const Closure& closure, RequesterFiles& files) {
  InodePlaces places;
  return FirstUntrue(closure, files, &places);
}

size_t FirstUntrue(const Closure& closure, RequesterFiles& files, InodePlaces* places) {
  std::vector<const FileName*> names;
  names.reserve(closure.entries.size());
  for (const ClosureEntry& entry : closure.entries) names.push_back(&entry.name);
  files.Expect(names);
  for (uint32_t i = 0; i < closure.entries.size(); ++i) {
    const ClosureEntry& entry = closure.entries[i];
    const Result<SeenFile> seen = files.Look(entry.name);
    if (!seen || seen->kind != entry.kind) return i;
    if (entry.kind == FileKind::kAbsent) continue;
    if (entry.kind == FileKind::kFile && seen->digest != entry.digest) return i;
    if (places->try_emplace(seen->inode, i).first->second != entry.same_as) return i;
  }
  return closure.entries.size();
}

}  // namespace cccl_cached
