// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/closure/closure.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Limit of a record in bytes, both encoded and compressed: a deposit of the maximum size. Larger
/// records are neither written nor accepted. The format would allow four times as much.
inline constexpr uint64_t kMaxRecordBytes = (64u << 20) + (64u << 10);
/// Copies of a record in memory while it is made or accepted: the bytes, the entry, the record, the
/// compressed record, and the stored form.
inline constexpr uint64_t kCopiesOfRecord = 5;

/// Maximum compile time in a record; longer ones are reduced to it. Each hit adds the record's time
/// to the statistics, and users can insert any records.
inline constexpr std::chrono::hours kMaxCompileTimeOfRecord{1};

/// The record of one artifact in a snapshot, before compression. It has all inputs of the
/// artifact's key, so that the key is computed and never taken from the record.
struct ArtifactRecord {
  Digest fingerprint;
  Closure closure;
  ArtifactPtr artifact;

  /// Returns the key under which the artifact is kept.
  [[nodiscard]] Digest key() const { return KeyOf(fingerprint, closure); }
};

/// docs/internals/snapshot-format.md has the layout byte by byte.
[[nodiscard]] std::string EncodeArtifactRecord(const ArtifactRecord& record);

/// Returns none if the record is malformed, or its key is not `key`, which the index names. `bytes`
/// is untrusted.
[[nodiscard]] std::optional<ArtifactRecord> DecodeArtifactRecord(const Digest& key,
                                                                 std::string_view bytes);

/// The record of one deposit in a snapshot, before compression. It names no owner, because the user
/// who inserts it becomes its owner.
struct DepositCopy {
  std::string name_space;
  Digest fields;             ///< digest of the fields
  DepositContents contents;  ///< never null

  /// Returns the deposit's identity in a snapshot.
  [[nodiscard]] Digest identity() const { return DepositIdentity(name_space, fields); }
};

/// docs/internals/snapshot-format.md has the layout byte by byte.
[[nodiscard]] std::string EncodeDepositCopy(const DepositCopy& copy);

/// Returns the size of the contents of a deposit whose encoded copy has `copy_bytes`, in bytes; the
/// deposit is charged for it. Returns 0 if no copy can have this size.
[[nodiscard]] uint64_t ContentsSize(std::string_view name_space, uint64_t copy_bytes);

/// Returns none if the copy is malformed, or its identity is not `identity`, which the index names.
/// `bytes` is untrusted.
[[nodiscard]] std::optional<DepositCopy> DecodeDepositCopy(const Digest& identity,
                                                           std::string_view bytes);

}  // namespace cccl_cache::daemon
