// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/core/coordinator/coordinator.h"

/// BuildReply of build.proto, byte for byte what the generated code would write.
namespace cccl_cache::daemon {

/// Outcome of a build without a daemon, which the core never has.
inline constexpr Outcome kLocalOutcome{6};

/// Returns the reply up to its artifacts, which come last.
[[nodiscard]] std::string EncodeReplyHead(const BuildAnswer& answer);

/// EncodeArtifactHead returns one of the reply's artifacts. With kFollow its bytes are missing and
/// must follow. With kInChunks it is complete, and its bytes come in chunks.
enum class ArtifactBytes : uint8_t { kFollow, kInChunks };
[[nodiscard]] std::string EncodeArtifactHead(const ArtifactPart& part, ArtifactBytes bytes);

}  // namespace cccl_cache::daemon
