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

/// Limit of a record in bytes, encoded as well as compressed: a deposit of the largest size. A
/// larger record is neither written nor accepted. The format has room for four times as much.
inline constexpr uint64_t kMaxRecordBytes = (64u << 20) + (64u << 10);
/// How many copies of a record are in memory while it is made or accepted: the bytes, the entry,
/// the record, the compressed record, and the kept form.
inline constexpr uint64_t kCopiesOfRecord = 5;

/// Maximum compile time in a record; a longer one is stored as this. Each hit adds the record's
/// time to the totals, and users can insert any records.
inline constexpr std::chrono::hours kMaxCompileTimeOfRecord{1};

/// The record of one artifact in a snapshot, before compression. It includes the inputs of the key,
/// so an artifact is never found under another key, and builds find the key.
struct ArtifactRecord {
  Digest fingerprint;
  Closure closure;
  ArtifactPtr artifact;

  /// Returns the key under which the artifact is kept.
  [[nodiscard]] Digest key() const { return KeyOf(fingerprint, closure); }
};

/// docs/internals/snapshot-format.md has the layout byte by byte.
[[nodiscard]] std::string EncodeArtifactRecord(const ArtifactRecord& record);

/// Returns none if anything is malformed, or if the key differs from that of the index. `bytes` is
/// untrusted.
[[nodiscard]] std::optional<ArtifactRecord> DecodeArtifactRecord(const Digest& key,
                                                                 std::string_view bytes);

/// The record of one deposit in a snapshot, before compression. It does not name the owner: the
/// user who inserts it becomes its only owner.
struct DepositCopy {
  std::string name_space;
  Digest fields;             ///< digest of the fields
  DepositContents contents;  ///< never null

  /// Returns its identity in a snapshot.
  [[nodiscard]] Digest identity() const { return DepositIdentity(name_space, fields); }
};

/// docs/internals/snapshot-format.md has the layout byte by byte.
[[nodiscard]] std::string EncodeDepositCopy(const DepositCopy& copy);

/// Returns the size in bytes of the contents in an encoded copy of `copy_bytes`; a deposit is
/// charged for that. Returns 0 for a size that no copy has.
[[nodiscard]] uint64_t ContentsSize(std::string_view name_space, uint64_t copy_bytes);

/// Returns none if anything is malformed, or if the identity differs from that of the index.
/// `bytes` is untrusted.
[[nodiscard]] std::optional<DepositCopy> DecodeDepositCopy(const Digest& identity,
                                                           std::string_view bytes);

}  // namespace cccl_cache::daemon
