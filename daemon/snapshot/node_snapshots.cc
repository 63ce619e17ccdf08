// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/node_snapshots.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/manifest.h"
#include "daemon/snapshot/compression.h"
#include "proto/snapshot_writer.h"

namespace cccl_cached {
namespace {

using cccl_cache::Digest;
using cccl_cache::SnapshotItem;
using cccl_cache::SnapshotWriter;

std::string Text(const std::string& text) { return cccl_cache::IsSnapshotText(text) ? text : ""; }

SnapshotItem ItemOf(const AnsweredBuild& build, uint64_t bytes) {
  SnapshotItem item;
  item.key = build.key;
  item.bytes = bytes;
  item.toolchain = build.toolchain;
  item.toolchain_version = Text(build.toolchain_version);
  item.arch = Text(build.arch);
  return item;
}

}  // namespace

Result<SnapshotSummary> NodeSnapshots::Create(const Peer& peer, const SnapshotFilter& filter,
                                              const Sink& sink) {
  const Result<std::vector<ChosenBuild>> chosen = ChooseBuilds(parts_.answered, peer, filter);
  if (!chosen) return chosen.error();
  Status sunk = Ok{};
  SnapshotWriter writer([&](std::string_view bytes) {
    sunk = sink(bytes);
    return sunk.ok();
  });
  SnapshotSummary summary;
  for (const ChosenBuild& each : *chosen) {
    const std::optional<ArtifactRecord> record = RecordOf(each);
    std::string bytes;
    if (record) bytes = EncodeArtifactRecord(*record);
    if (!record || bytes.size() > cccl_cache::kMostSnapshotRecordBytes ||
        writer.count() == cccl_cache::kMostSnapshotRecords) {
      ++summary.left_out;
    } else if (!writer.Add(ItemOf(each.build, bytes.size()), Compress(bytes))) {
      return sunk.error();
    }
  }
  if (!writer.Finish()) return sunk.error();
  summary.records = writer.count();
  summary.bytes = writer.written();
  return summary;
}

std::optional<ArtifactRecord> NodeSnapshots::RecordOf(const ChosenBuild& chosen) {
  const AnsweredBuild& build = chosen.build;
  ArtifactRecord record{build.fingerprint, {}, Find(build.key)};
  if (record.artifact == nullptr) return std::nullopt;
  if (record.key() == build.key) return record;
  // What files it was made of stands in the manifest, with what other users' builds were made of.
  const ArtifactPtr entry = Find(ManifestKey(build.fingerprint));
  std::optional<Manifest> manifest;
  if (entry != nullptr) manifest = DecodeManifest(entry->log);
  if (!manifest) return std::nullopt;
  for (KnownClosure& known : manifest->closures) {
    if (known.shows_paths || KeyOf(build.fingerprint, known.closure) != build.key) continue;
    record.closure = std::move(known.closure);
    return record;
  }
  return std::nullopt;
}

ArtifactPtr NodeSnapshots::Find(const Digest& key) {
  for (Tier* tier : parts_.tiers) {
    if (ArtifactPtr artifact = tier->Get(key)) return artifact;
  }
  return nullptr;
}

}  // namespace cccl_cached
