// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/path_proof.h"

#include <algorithm>

#include "daemon/core/closure/closure.h"

namespace cccl_cache::daemon {
namespace {

Digest OutputOf(const Artifact& artifact) {
  Hasher hasher;
  for (const ArtifactPart& part : artifact.parts) {
    hasher.AppendValue("kind", static_cast<uint64_t>(part.kind));
    hasher.AppendValue("part", part.sha256.View());
  }
  for (const auto& [expression, lowered] : artifact.lowered_names) {
    hasher.AppendValue("expression", expression);
    hasher.AppendValue("lowered", lowered);
  }
  return hasher.Finish();
}

// Of contents alone: in which root a name is said to lie may depend on the view.
Digest FilesOf(const Closure& closure) {
  std::vector<Digest> digests;
  for (const ClosureEntry& entry : closure.entries) {
    if (entry.kind == FileKind::kFile) digests.push_back(entry.digest);
  }
  std::ranges::sort(digests);
  Hasher hasher;
  for (const Digest& digest : digests) hasher.AppendValue("file", digest.View());
  return hasher.Finish();
}

}  // namespace

UnprovenResult::UnprovenResult(const BuildPlan& real, const FlightResult& flight_result)
    : program_name_(real.job.program_name),
      options_(real.job.options),
      output_(OutputOf(*flight_result.output.artifact)),
      files_(FilesOf(flight_result.closure)) {}

PathVerdict UnprovenResult::Compare(const BuildPlan& canonical,
                                    const FlightResult& flight_result) const {
  const bool compiled =
      !flight_result.error && flight_result.output.succeeded && !flight_result.toolchain_changed;
  // The lengths must differ, because a program can show the length of a name alone.
  const bool lengths_differ =
      program_name_.size() != canonical.job.program_name.size() &&
      std::ranges::equal(options_, canonical.job.options, [](const auto& a, const auto& b) {
        return a == b || a.size() != b.size();
      });
  // A file that has changed since says nothing of the names.
  if (!compiled || !lengths_differ || files_ != FilesOf(flight_result.closure)) {
    return PathVerdict::kUnknown;
  }
  const bool same =
      !flight_result.shows_paths && output_ == OutputOf(*flight_result.output.artifact);
  return same ? PathVerdict::kNotShown : PathVerdict::kShown;
}

size_t UnprovenResult::bytes() const {
  size_t bytes = program_name_.capacity();
  for (const std::string& option : options_) bytes += sizeof(option) + option.capacity();
  return bytes;
}

}  // namespace cccl_cache::daemon
