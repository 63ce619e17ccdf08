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

/// How a build was answered. Sent: values never change; the same numbers as in build.proto.
enum class Outcome : uint8_t { kHit = 1, kBuilt = 2, kJoined = 3, kUncacheable = 4, kFailed = 5 };

/// One output of a compile.
struct ArtifactPart {
  ArtifactKind kind = ArtifactKind::kPtx;
  std::string bytes;
  Digest sha256;  ///< of bytes
  /// LTO-IR that was compiled with a precompiled header. Its bytes may differ from those of a
  /// compile of the whole program; the PTX that nvJitLink makes from it is the same.
  bool precompiled = false;
};

/// Everything that one compile produced. Immutable once made: shared between threads as
/// shared_ptr<const Artifact>.
struct Artifact {
  std::vector<ArtifactPart> parts;
  std::vector<std::pair<std::string, std::string>> lowered_names;  ///< expression, lowered name
  std::string log;  ///< as the compiler wrote it, under the names that the compiler saw
  std::chrono::microseconds compile_time{0};  ///< the time that a hit saves; 0: not known

  /// Returns roughly how many bytes this object holds in memory.
  [[nodiscard]] size_t Footprint() const;
};

using ArtifactPtr = std::shared_ptr<const Artifact>;

/// Whether an insertion put the entry there (kNow) or found it there already (kBefore).
enum class Inserted : uint8_t { kNow, kBefore };

}  // namespace cccl_cache::daemon
