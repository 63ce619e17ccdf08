// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/compiler.h"
#include "daemon/core/result.h"
#include "daemon/core/toolchain.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cached {

/// What follows from a request and the toolchain that serves it, before anything is looked up.
struct BuildPlan {
  cccl_cache::Digest fingerprint;
  cccl_cache::Digest key;
  /// Hash of the directories in which this requester's files lie: two builds of one fingerprint that look
  /// outside the toolchain are the same only if these agree too.
  cccl_cache::Digest view;
  CompileJob job;
  bool path_dependent = false;     ///< the compiler sees the real paths, and so does the fingerprint
  std::string uncacheable_reason;  ///< empty: cacheable as far as the request tells
  /// (what the compiler saw, what the client called it): put back into logs, longest first.
  std::vector<std::pair<std::string, std::string>> visible_names;
};

struct PlanOptions {
  bool outside_files_allowed = false;
  bool force_path_dependent = false;  ///< an earlier compile showed that the output holds paths
};

/// Applies the option rules, lays out the roots, computes the fingerprint. kInvalidRequest names the field or
/// option. Pure but for one stat per -I that is not known by name, and that only if outside files are allowed.
[[nodiscard]] Result<BuildPlan> PlanBuild(std::shared_ptr<const cccl_cache::BuildRequest> request,
                                          ToolchainPtr toolchain, const PlanOptions& options);

/// The compiler's text with the client's own names in place of the canonical ones.
[[nodiscard]] std::string WithClientNames(const BuildPlan& plan, std::string_view text);

/// Whether the canonical names stand in an output: the program shows its paths without saying so in a way that
/// the plan saw.
[[nodiscard]] bool ShowsCanonicalNames(const BuildPlan& plan, const Artifact& artifact);

}  // namespace cccl_cached
