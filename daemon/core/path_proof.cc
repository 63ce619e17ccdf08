// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/path_proof.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace cccl_cached {
namespace {

using cccl_cache::ArtifactKind;

bool NamesNoPaths(const Artifact& artifact) {
  return std::ranges::all_of(artifact.parts, [](const ArtifactPart& part) {
    return part.kind == ArtifactKind::kPtx || part.kind == ArtifactKind::kCubin;
  });
}

bool SameCode(const Artifact& one, const Artifact& other) {
  return one.lowered_names == other.lowered_names &&
         std::ranges::equal(one.parts, other.parts, [](const auto& a, const auto& b) {
           return a.kind == b.kind && a.sha256 == b.sha256;
         });
}

// The same program, to PTX and cubin.
BuildPlan ToCode(BuildPlan plan) {
  std::erase_if(plan.job.options, [](std::string_view option) {
    return option.starts_with("--dlink-time-opt") || option.starts_with("--optix-ir");
  });
  return plan;
}

// A program can show the length of a name alone.
bool NamesDifferInLength(const CompileJob& one, const CompileJob& other) {
  if (one.program_name.size() == other.program_name.size()) return false;
  return std::ranges::equal(one.options, other.options, [](const auto& a, const auto& b) {
    return a == b || a.size() != b.size();
  });
}

// Which root a name is said to lie in may depend on the view.
bool SameFiles(const Closure& one, const Closure& other) {
  const auto digests = [](const Closure& closure) {
    std::vector<cccl_cache::Digest> found;
    for (const ClosureEntry& entry : closure.entries) {
      if (entry.kind == FileKind::kFile) found.push_back(entry.digest);
    }
    std::ranges::sort(found);
    return found;
  };
  return digests(one) == digests(other);
}

bool Compiled(const Landing& landing) {
  return !landing.error && landing.output.succeeded && !landing.toolchain_changed;
}

}  // namespace

PathFinding FindOut(const PathProof& proof, FlightRunner& runner, const std::stop_token& stop) {
  FlightOrder order{.caller = proof.peer, .purpose = CompilePurpose::kPathProof};
  if (proof.files_were_sent) order.recalled = Recall(*proof.real, proof.closure);
  PathFinding finding;
  if (!NamesDifferInLength(proof.real->job, proof.canonical->job)) return finding;
  finding.canonical = runner.Run(*proof.canonical, order, stop);
  // A file that has changed since says nothing of the names.
  if (!Compiled(finding.canonical) || !SameFiles(finding.canonical.closure, proof.closure)) {
    return finding;
  }
  const Artifact& canonical = *finding.canonical.output.artifact;
  bool same = !finding.canonical.shows_paths;
  if (NamesNoPaths(*proof.artifact)) {
    same = same && SameCode(*proof.artifact, canonical);
  } else if (same) {
    const Landing real = runner.Run(ToCode(*proof.real), order, stop);
    const Landing other = runner.Run(ToCode(*proof.canonical), order, stop);
    if (!Compiled(real) || !Compiled(other)) return finding;
    same = !other.shows_paths && SameCode(*real.output.artifact, *other.output.artifact);
  }
  finding.verdict = same ? PathVerdict::kNotShown : PathVerdict::kShown;
  return finding;
}

}  // namespace cccl_cached
