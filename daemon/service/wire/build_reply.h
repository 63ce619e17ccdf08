// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/core/coordinator/coordinator.h"

/// The functions below encode BuildReply of build.proto. Their bytes are equal to those of the
/// generated code.
namespace cccl_cache::daemon {

/// The outcome of a build that a client compiled without a daemon. The core never returns it.
inline constexpr Outcome kLocalOutcome{6};

/// Returns the encoded reply without its artifacts, which are its last fields.
[[nodiscard]] std::string EncodeReplyHead(const BuildAnswer& answer);

/// How EncodeArtifactHead encodes an artifact. With kFollow the result lacks the artifact's bytes,
/// and the caller must append them. With kInChunks the result is complete, because the bytes are
/// sent in chunks later.
enum class ArtifactBytes : uint8_t { kFollow, kInChunks };
[[nodiscard]] std::string EncodeArtifactHead(const ArtifactPart& part, ArtifactBytes bytes);

}  // namespace cccl_cache::daemon
