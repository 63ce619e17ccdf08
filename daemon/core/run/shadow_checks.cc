// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/shadow_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace cccl_cache::daemon {
namespace {

// Of the request's texts: in the request itself and twice in its plan.
constexpr size_t kCopiesInPlan = 3;

// Without a seed NVRTC gives unnamed entities other names each time.
bool Repeatable(const BuildPlan& plan) {
  return plan.job.request->kind() != cccl_cache::BuildKind::kNvrtc ||
         plan.job.toolchain->capabilities.random_seed;
}

// What differs, for a person; empty: nothing.
std::string Difference(const Artifact& kept, const Artifact& again) {
  if (kept.parts.size() != again.parts.size()) return "another number of outputs";
  for (size_t i = 0; i < kept.parts.size(); ++i) {
    const ArtifactPart& one = kept.parts[i];
    const ArtifactPart& other = again.parts[i];
    if (one.kind == other.kind && one.sha256 == other.sha256) continue;
    return fmt::format("output {}: kept {}, compiled again {}", i, one.sha256.Hex(),
                       other.sha256.Hex());
  }
  return kept.lowered_names == again.lowered_names ? "" : "other lowered names";
}

}  // namespace

void ShadowChecks::Consider(const Hit& hit) {
  if (every_ == 0 || hits_.fetch_add(1, std::memory_order_relaxed) % every_ != every_ - 1) return;
  if (!Repeatable(*hit.plan)) return;
  const size_t bytes = kCopiesInPlan * cccl_cache::BytesOf(*hit.plan->job.request) +
                       hit.landing.output.artifact->Footprint() + BytesOf(hit.closure);
  parts_.idle_jobs.Add(hit.peer.account(), bytes,
                       [this, sample = Sample{hit.plan, hit.peer, hit.landing,
                                              Recall(*hit.plan, hit.closure), hit.files_were_sent}](
                           std::stop_token stop) { Check(sample, std::move(stop)); });
}

void ShadowChecks::Check(const Sample& sample, std::stop_token stop) {
  FlightOrder order{.caller = sample.peer, .purpose = CompilePurpose::kShadowCheck};
  if (sample.files_were_sent) order.recalled = sample.answered;
  const Landing again = parts_.runner.Run(*sample.plan, order, std::move(stop));
  // Says nothing of the entry: a compile that was ended, a file that changed since or is gone.
  if (again.error || again.toolchain_changed || again.closure != sample.answered->closure) return;
  const Artifact& kept = *sample.landing.output.artifact;
  const std::string difference = again.output.succeeded ? Difference(kept, *again.output.artifact)
                                                        : "it does not compile any more";
  if (difference.empty()) return;
  parts_.memory.Drop(sample.landing.key);
  parts_.statistics.Add(Counter::kShadowMismatches);
  if (parts_.report) {
    parts_.report(
        fmt::format("shadow check: entry {} was dropped, it is not what its compiler "
                    "makes now; {}",
                    sample.landing.key.Hex(), difference));
  }
}

}  // namespace cccl_cache::daemon
