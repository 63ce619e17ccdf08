// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The outcome of a build. The values are sent over the wire: they never change, and equal those in
/// build.proto.
enum class Outcome : uint8_t { kHit = 1, kBuilt = 2, kJoined = 3, kUncacheable = 4, kFailed = 5 };

/// One output of a compile, such as PTX or a cubin.
struct ArtifactPart {
  ArtifactKind kind = ArtifactKind::kPtx;
  std::string bytes;
  Digest sha256;  ///< SHA-256 of `bytes`
  /// Whether this is LTO-IR that was compiled with a precompiled header. Its bytes may differ from
  /// those of a compile without one. nvJitLink makes the same PTX from both.
  bool precompiled = false;
};

/// The outputs of one compile. Immutable, so that threads share it as shared_ptr<const Artifact>.
struct Artifact {
  std::vector<ArtifactPart> parts;
  std::vector<std::pair<std::string, std::string>> lowered_names;  ///< name expression, mangled
                                                                   ///< name
  std::string log;  ///< the compiler's log; file names in it are those that the compiler saw
  std::chrono::microseconds compile_time{0};  ///< how long the compile took; 0 if unknown

  /// Returns the approximate size in memory, in bytes.
  [[nodiscard]] size_t Footprint() const;
};

using ArtifactPtr = std::shared_ptr<const Artifact>;

/// The result of an insertion: the entry was added now, or was there before.
enum class Inserted : uint8_t { kNow, kBefore };

}  // namespace cccl_cache::daemon
