// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/snapshot/records.h"
#include "proto/compression.h"
#include "proto/snapshot/snapshot.h"

namespace cccl_cache::daemon::testing {

/// Returns the record of a program whose compile result is its name.
inline ArtifactRecord RecordOf(const std::string& name) {
  auto artifact = std::make_shared<Artifact>();
  artifact->parts = {{cccl_cache::ArtifactKind::kCubin, name, cccl_cache::Sha256(name)}};
  return {cccl_cache::Sha256("fingerprint " + name), {}, artifact};
}

struct StoredRecord {
  cccl_cache::SnapshotItem item;
  std::string bytes;  ///< before compression
};

inline StoredRecord StoredFrom(const ArtifactRecord& record) {
  StoredRecord stored;
  stored.bytes = EncodeArtifactRecord(record);
  stored.item.key = record.key();
  stored.item.bytes = stored.bytes.size();
  return stored;
}

inline StoredRecord StoredDeposit(const std::string& fields,
                                  const std::string& contents = "bytes") {
  const DepositCopy copy{"n", cccl_cache::Sha256(fields),
                         std::make_shared<const std::string>(contents)};
  StoredRecord stored;
  stored.bytes = EncodeDepositCopy(copy);
  stored.item.kind = cccl_cache::SnapshotKind::kDeposit;
  stored.item.key = copy.identity();
  stored.item.bytes = stored.bytes.size();
  stored.item.name_space = copy.name_space;
  return stored;
}

/// Returns a file of these records, valid or not. The digests in the file are right.
inline std::string SnapshotOf(std::vector<StoredRecord> records) {
  std::ranges::sort(records, [](const auto& a, const auto& b) {
    return cccl_cache::SnapshotOrder(a.item, b.item);
  });
  std::string file;
  cccl_cache::SnapshotWriter writer([&](std::string_view bytes) {
    file.append(bytes);
    return true;
  });
  for (const StoredRecord& each : records) {
    if (!writer.Add(each.item, *cccl_cache::Compress(each.bytes, cccl_cache::kFastCompression)))
      return {};
  }
  return writer.Finish() ? file : std::string();
}

inline std::string SnapshotNamed(const std::vector<std::string>& names) {
  std::vector<StoredRecord> records;
  for (const std::string& name : names) records.push_back(StoredFrom(RecordOf(name)));
  return SnapshotOf(std::move(records));
}

}  // namespace cccl_cache::daemon::testing
