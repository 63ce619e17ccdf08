// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "daemon/core/plan/build_plan.h"
#include "daemon/core/run/flight_runner.h"

namespace cccl_cache::daemon {

/// Whether the output of a program over headers that name __FILE__ or its kin shows paths is found
/// by compiling it under the real ones and under canonical names. Where these have another length
/// and other letters, equal bytes prove that they do not show.
struct PathProof {
  std::shared_ptr<const BuildPlan> real;
  std::shared_ptr<const BuildPlan> canonical;
  Caller caller;
  /// Of the real plan. Null: not compiled yet, as its artifact would name paths without meaning.
  ArtifactPtr artifact;
  Closure closure;  ///< that the artifact was made of
  /// The caller's files are taken to be what they were; null: what they are now.
  AnsweredFilesPtr recalled;
};

/// Whether the plan's artifact names paths anyway, without meaning: LTO-IR and OptiX-IR.
[[nodiscard]] bool NamesPathsAnyway(const BuildPlan& plan);

enum class PathVerdict { kUnknown, kShown, kNotShown };

struct PathFinding {
  PathVerdict verdict = PathVerdict::kUnknown;
  Landing canonical;  ///< what was compiled under canonical names; may be kept if nothing shows
};

/// Blocks for one compile; for three where the artifact names paths anyway: there the PTX of the
/// same program decides. `purpose`: of the compile under canonical names.
[[nodiscard]] PathFinding FindOut(const PathProof& proof, CompilePurpose purpose,
                                  FlightRunner& runner, const std::stop_token& stop);

/// Proofs that were not made yet, or are being made with nobody waiting. Thread-safe.
class OpenProofs {
 public:
  struct Open {
    PathProof proof;
    std::stop_source taken;  ///< another thread makes it
  };

  /// Null: this user's same program has one.
  std::shared_ptr<Open> Add(PathProof proof);
  /// The one of this user's same program in any directory, to be made now by whoever takes it.
  /// Null: it has none.
  std::shared_ptr<Open> Take(const BuildPlan& canonical, uid_t uid);
  /// It was made, or nobody will.
  void Remove(const std::shared_ptr<Open>& open);

 private:
  std::mutex mutex_;
  std::map<std::pair<uid_t, cccl_cache::Digest>, std::shared_ptr<Open>>
      open_;  // guarded by mutex_: by the fingerprint under canonical names
};

}  // namespace cccl_cache::daemon
