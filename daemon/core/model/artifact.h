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

/// The outcome of a build. Sent: values never change, and equal those in build.proto.
enum class Outcome : uint8_t { kHit = 1, kBuilt = 2, kJoined = 3, kUncacheable = 4, kFailed = 5 };

/// One output of a compile.
struct ArtifactPart {
  ArtifactKind kind = ArtifactKind::kPtx;
  std::string bytes;
  Digest sha256;  ///< of bytes
  /// Whether it is LTO-IR from a compile with a precompiled header. Its bytes may differ from those
  /// of a compile of the whole program. nvJitLink makes the same PTX from both.
  bool precompiled = false;
};

/// The outputs of one compile. Immutable, so that threads share it as shared_ptr<const Artifact>.
struct Artifact {
  std::vector<ArtifactPart> parts;
  std::vector<std::pair<std::string, std::string>> lowered_names;  ///< expression, lowered name
  std::string log;  ///< the compiler's own text, with the names that the compiler saw
  std::chrono::microseconds compile_time{0};  ///< the time that a hit saves; 0 if unknown

  /// Returns the approximate bytes of this object in memory.
  [[nodiscard]] size_t Footprint() const;
};

using ArtifactPtr = std::shared_ptr<const Artifact>;

/// Whether an insertion added the entry (kNow), or it existed before (kBefore).
enum class Inserted : uint8_t { kNow, kBefore };

}  // namespace cccl_cache::daemon
