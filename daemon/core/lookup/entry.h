// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Bytes that an entry takes on the disk in addition to its encoding: the key twice, the record of
/// its last use, and the reference to its blob.
inline constexpr uint64_t kEntryOverhead = 256;

/// Returns the bytes that represent an artifact on disks and between nodes. They contain the key, a
/// version and a checksum: see docs/internals/entry-format.md. Equal artifacts with equal keys give
/// equal bytes.
[[nodiscard]] std::string EncodeEntry(const Digest& key, const Artifact& artifact);

/// Returns the artifact that EncodeEntry has encoded. Returns null if the bytes have another key,
/// another version, a wrong checksum, or are not a valid entry. `bytes` may be untrusted.
[[nodiscard]] ArtifactPtr DecodeEntry(const Digest& key_asked, std::string_view bytes);

}  // namespace cccl_cache::daemon
