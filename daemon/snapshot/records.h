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

/// Maximum bytes of a record, both before and after compression. A deposit of the maximum size
/// fits. Larger records are neither written nor accepted, although the format allows four times as
/// much.
inline constexpr uint64_t kMaxRecordBytes = (64u << 20) + (64u << 10);
/// Maximum number of copies of a record that are in memory while it is written or inserted: the
/// artifact's bytes, the entry, the record, the compressed record, and the stored form.
inline constexpr uint64_t kCopiesOfRecord = 5;

/// Maximum compile time in a record. A longer time is replaced by it. Each hit adds this time to
/// the time saved in the statistics, and any user can insert a record with a false time.
inline constexpr std::chrono::hours kMaxCompileTimeOfRecord{1};

/// One artifact in a snapshot. The record contains everything from which the artifact's key is
/// computed, so that a false key in a snapshot is detected.
struct ArtifactRecord {
  Digest fingerprint;
  Closure closure;
  ArtifactPtr artifact;

  /// Returns the key under which the artifact is kept.
  [[nodiscard]] Digest key() const { return KeyOf(fingerprint, closure); }
};

/// Returns the encoded record before compression. Its layout is in
/// docs/internals/snapshot-format.md.
[[nodiscard]] std::string EncodeArtifactRecord(const ArtifactRecord& record);

/// Decodes a record from an untrusted snapshot. Returns none if the bytes are malformed, or if the
/// computed key is not `key`, which the snapshot's index has for this record.
[[nodiscard]] std::optional<ArtifactRecord> DecodeArtifactRecord(const Digest& key,
                                                                 std::string_view bytes);

/// One deposit in a snapshot. It has no owner: the user who inserts the snapshot becomes the owner.
struct DepositCopy {
  std::string name_space;
  Digest fields;             ///< digest of the fields of the deposit's key
  DepositContents contents;  ///< never null

  /// Returns the digest that names the deposit in a snapshot.
  [[nodiscard]] Digest identity() const { return DepositIdentity(name_space, fields); }
};

/// Returns the encoded record before compression. Its layout is in
/// docs/internals/snapshot-format.md.
[[nodiscard]] std::string EncodeDepositCopy(const DepositCopy& copy);

/// Returns the size in bytes of the contents in a record of `copy_bytes` bytes. This size counts
/// for the account. Returns 0 if no record can have that size.
[[nodiscard]] uint64_t ContentsSize(std::string_view name_space, uint64_t copy_bytes);

/// Decodes a record from an untrusted snapshot. Returns none if the bytes are malformed, or if the
/// computed identity is not `identity`, which the snapshot's index has for this record.
[[nodiscard]] std::optional<DepositCopy> DecodeDepositCopy(const Digest& identity,
                                                           std::string_view bytes);

}  // namespace cccl_cache::daemon
