// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Bytes that an entry costs on the disk beyond its encoding: twice the key, the usage record, the
/// reference to its blob.
inline constexpr uint64_t kEntryOverhead = 256;

/// Returns the bytes in which an artifact leaves the process: self-describing, sealed by a
/// checksum, bound to its key. docs/internals/entry-format.md describes each byte. Equal artifacts
/// under equal keys give equal bytes.
[[nodiscard]] std::string EncodeEntry(const Digest& key, const Artifact& artifact);

/// Returns the artifact, or null if anything does not verify: another key inside, a wrong checksum,
/// another format version, a length out of bounds, an unknown kind, bytes left over. `bytes` may be
/// untrusted.
[[nodiscard]] ArtifactPtr DecodeEntry(const Digest& key_asked, std::string_view bytes);

}  // namespace cccl_cache::daemon
