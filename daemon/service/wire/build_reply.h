// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/core/build/coordinator.h"

/// BuildReply of build.proto, byte for byte what the generated code would write.
namespace cccl_cache::daemon {

/// Built without a daemon, and so none of the core's own.
inline constexpr Outcome kLocalOutcome{6};

/// All of it up to its artifacts, which come last.
[[nodiscard]] std::string EncodeReplyHead(const BuildAnswer& answer);

/// One of its artifacts: all of it, or all but its bytes, which then have to follow, unless they
/// come in chunks.
enum class ArtifactBytes : uint8_t { kFollow, kInChunks };
[[nodiscard]] std::string EncodeArtifactHead(const ArtifactPart& part, ArtifactBytes bytes);

}  // namespace cccl_cache::daemon
