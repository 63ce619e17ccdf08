// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Bytes of an entry on the disk in addition to its encoding: twice the key, the usage record, the
/// reference to its blob.
inline constexpr uint64_t kEntryOverhead = 256;

/// Returns the encoding of an artifact outside of the process: self-describing, with a checksum,
/// bound to its key. docs/internals/entry-format.md describes each byte. Equal artifacts under
/// equal keys give equal bytes.
[[nodiscard]] std::string EncodeEntry(const Digest& key, const Artifact& artifact);

/// Returns the artifact. Null if anything is wrong: another key, a wrong checksum, another format
/// version, a length out of range, an unknown kind, trailing bytes. `bytes` may be untrusted.
[[nodiscard]] ArtifactPtr DecodeEntry(const Digest& key_asked, std::string_view bytes);

}  // namespace cccl_cache::daemon
