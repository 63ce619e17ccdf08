// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>

#include "daemon/core/build_plan.h"
#include "daemon/core/flight_runner.h"

namespace cccl_cached {

/// A program over headers that name __FILE__ or its kin was compiled under the real paths. Whether
/// its output shows them is found by compiling it again under canonical names. Where these have
/// another length and other letters, equal bytes prove that they do not show.
struct PathProof {
  std::shared_ptr<const BuildPlan> real;
  std::shared_ptr<const BuildPlan> canonical;
  Peer peer;
  ArtifactPtr artifact;  ///< of the real plan
  Closure closure;       ///< that it was made of
  /// By the peer: its files are taken to be what they were.
  bool files_were_sent = false;
};

enum class PathVerdict { kUnknown, kShown, kNotShown };

struct PathFinding {
  PathVerdict verdict = PathVerdict::kUnknown;
  Landing canonical;  ///< what was compiled under canonical names; may be kept if nothing shows
};

/// Blocks for one compile; for three where the artifact holds LTO-IR or OptiX-IR, which name paths
/// without meaning: there the PTX of the same program decides.
[[nodiscard]] PathFinding FindOut(const PathProof& proof, FlightRunner& runner,
                                  const std::stop_token& stop);

}  // namespace cccl_cached
