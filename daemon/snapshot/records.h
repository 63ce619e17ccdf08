// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/closure/closure.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Encoded, and compressed: as much as a deposit of the largest size. A larger one is neither
/// written nor taken in. The format has room for four times as much.
inline constexpr uint64_t kMaxRecordBytes = (64u << 20) + (64u << 10);
/// So often the bytes of a record are in memory while it is made or taken in: as they are, as an
/// entry, as a record, compressed, and as they are kept.
inline constexpr uint64_t kCopiesOfRecord = 5;

/// What a snapshot holds of one artifact, before compression: with it goes what the key is made of,
/// so that nothing is found under a key that it was not made for, and that builds find the key.
struct ArtifactRecord {
  Digest fingerprint;
  Closure closure;
  ArtifactPtr artifact;

  /// Under which it is kept.
  [[nodiscard]] Digest key() const { return KeyOf(fingerprint, closure); }
};

/// docs/internals/snapshot-format.md says it byte by byte. How long the compile took is left out:
/// it is no part of what was made, and another each time.
[[nodiscard]] std::string EncodeArtifactRecord(const ArtifactRecord& record);

/// None if anything is malformed, or another key than that of the index comes of it. `bytes` may
/// come from anybody.
[[nodiscard]] std::optional<ArtifactRecord> DecodeArtifactRecord(const Digest& key,
                                                                 std::string_view bytes);

/// What a snapshot holds of one deposit, before compression: nothing of whose it was. Whoever
/// inserts it has it alone.
struct DepositCopy {
  std::string name_space;
  Digest fields;             ///< of what it was made from
  DepositContents contents;  ///< never null

  /// Under which it stands in a snapshot.
  [[nodiscard]] Digest identity() const { return DepositIdentity(name_space, fields); }
};

/// docs/internals/snapshot-format.md says it byte by byte.
[[nodiscard]] std::string EncodeDepositCopy(const DepositCopy& copy);

/// How many bytes of contents a copy of so many bytes holds, which is what a deposit counts. 0 for
/// a size that no copy has.
[[nodiscard]] uint64_t ContentsSize(std::string_view name_space, uint64_t copy_bytes);

/// None if anything is malformed, or another identity than that of the index comes of it. `bytes`
/// may come from anybody.
[[nodiscard]] std::optional<DepositCopy> DecodeDepositCopy(const Digest& identity,
                                                           std::string_view bytes);

}  // namespace cccl_cache::daemon
