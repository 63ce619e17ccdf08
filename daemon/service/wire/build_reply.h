// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/core/coordinator/coordinator.h"

/// Writes BuildReply of build.proto with the same bytes as the generated code.
namespace cccl_cache::daemon {

/// Outcome of a build without a daemon, which the core never returns.
inline constexpr Outcome kLocalOutcome{6};

/// Returns the reply up to its artifacts, which are its last fields.
[[nodiscard]] std::string EncodeReplyHead(const BuildAnswer& answer);

/// EncodeArtifactHead returns one artifact of the reply. With kFollow its bytes are missing and
/// must follow. With kInChunks it is complete, because its bytes come in chunks.
enum class ArtifactBytes : uint8_t { kFollow, kInChunks };
[[nodiscard]] std::string EncodeArtifactHead(const ArtifactPart& part, ArtifactBytes bytes);

}  // namespace cccl_cache::daemon
