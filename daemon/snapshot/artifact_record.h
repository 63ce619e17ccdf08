// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/closure/closure.h"
#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Encoded, and compressed: as much as a deposit of the largest size. A larger one is neither
/// written nor taken in. The format has room for four times as much.
inline constexpr uint64_t kMostRecordBytes = (64u << 20) + (64u << 10);
/// So often the bytes of a record are in memory while it is made or taken in: as they are, as an
/// entry, as a record, compressed, and as they are kept.
inline constexpr uint64_t kCopiesOfRecord = 5;

/// What a snapshot holds of one artifact, before compression: with it goes what the key is made of,
/// so that nothing is found under a key that it was not made for, and that builds find the key.
struct ArtifactRecord {
  cccl_cache::Digest fingerprint;
  Closure closure;
  ArtifactPtr artifact;

  /// Under which it is kept.
  [[nodiscard]] cccl_cache::Digest key() const { return KeyOf(fingerprint, closure); }
};

/// docs/snapshot-format.md says it byte by byte. How long the compile took is left out: it is no
/// part of what was made, and another each time.
[[nodiscard]] std::string EncodeArtifactRecord(const ArtifactRecord& record);

/// None if anything is malformed, or another key than that of the index comes of it. `bytes` may
/// come from anybody.
[[nodiscard]] std::optional<ArtifactRecord> DecodeArtifactRecord(const cccl_cache::Digest& key,
                                                                 std::string_view bytes);

}  // namespace cccl_cache::daemon
