// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/path_proof.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace cccl_cache::daemon {
namespace {

bool MakesIntermediateCode(std::string_view option) {
  return option.starts_with("--dlink-time-opt") || option.starts_with("--optix-ir");
}

bool SameCode(const Artifact& one, const Artifact& other) {
  return one.lowered_names == other.lowered_names &&
         std::ranges::equal(one.parts, other.parts, [](const auto& a, const auto& b) {
           return a.kind == b.kind && a.sha256 == b.sha256;
         });
}

// The same program, to PTX and cubin.
BuildPlan ToCode(BuildPlan plan) {
  std::erase_if(plan.job.options, MakesIntermediateCode);
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

bool NamesPathsAnyway(const BuildPlan& plan) {
  return std::ranges::any_of(plan.job.options, MakesIntermediateCode);
}

PathFinding FindOut(const PathProof& proof, CompilePurpose purpose, FlightRunner& runner,
                    const std::stop_token& stop) {
  FlightOrder order{.caller = proof.caller, .purpose = purpose, .recalled = proof.recalled};
  PathFinding finding;
  if (!NamesDifferInLength(proof.real->job, proof.canonical->job)) return finding;
  finding.canonical = runner.Run(*proof.canonical, order, stop);
  if (!Compiled(finding.canonical)) return finding;
  const Closure& closure = finding.canonical.closure;
  bool same = !finding.canonical.shows_paths;
  if (proof.artifact != nullptr) {
    // A file that has changed since says nothing of the names.
    if (!SameFiles(closure, proof.closure)) return finding;
    same = same && SameCode(*proof.artifact, *finding.canonical.output.artifact);
  } else if (same) {
    order.purpose = CompilePurpose::kPathProof;
    const Landing real = runner.Run(ToCode(*proof.real), order, stop);
    const Landing other = runner.Run(ToCode(*proof.canonical), order, stop);
    if (!Compiled(real) || !Compiled(other)) return finding;
    if (!SameFiles(closure, real.closure) || !SameFiles(closure, other.closure)) return finding;
    same = !other.shows_paths && SameCode(*real.output.artifact, *other.output.artifact);
  }
  finding.verdict = same ? PathVerdict::kNotShown : PathVerdict::kShown;
  return finding;
}

std::shared_ptr<OpenProofs::Open> OpenProofs::Add(PathProof proof) {
  const auto key = std::make_pair(proof.caller.peer.uid, proof.canonical->flight);
  const auto open = std::make_shared<Open>(Open{std::move(proof), {}});
  const std::lock_guard lock(mutex_);
  return open_.try_emplace(key, open).second ? open : nullptr;
}

std::shared_ptr<OpenProofs::Open> OpenProofs::Take(const BuildPlan& canonical, uid_t uid) {
  std::shared_ptr<Open> open;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find({uid, canonical.flight});
    if (found == open_.end()) return nullptr;
    open = std::move(found->second);
    open_.erase(found);
  }
  open->taken.request_stop();
  return open;
}

void OpenProofs::Remove(const std::shared_ptr<Open>& open) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find({open->proof.caller.peer.uid, open->proof.canonical->flight});
  if (found != open_.end() && found->second == open) open_.erase(found);
}

}  // namespace cccl_cache::daemon
