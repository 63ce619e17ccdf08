// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
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
  /// Hash of the places where this requester's files lie, and of whether they may be opened: two
  /// builds of one fingerprint that look outside the toolchain are the same only if these agree
  /// too.
  cccl_cache::Digest view;
  CompileJob job;
  /// The compiler sees the real paths, and so does the fingerprint.
  bool path_dependent = false;
  std::string uncacheable_reason;  ///< empty: cacheable as far as the request tells
  /// For each root: what the client's own names begin with where the compiler's begin with
  /// /cccl-root-N/.
  std::vector<std::string> client_prefixes;
};

struct PlanOptions {
  bool outside_files_allowed = false;
  bool force_path_dependent = false;  ///< an earlier compile showed that the output holds paths
};

/// Applies the option rules, lays out the roots, computes the fingerprint. kInvalidRequest names
/// the field or option. Pure, but for one look-up per -I that is not known by name, and that only
/// where outside files are allowed: what another uid names is never touched here.
[[nodiscard]] Result<BuildPlan> PlanBuild(std::shared_ptr<const cccl_cache::BuildRequest> request,
                                          ToolchainPtr toolchain, const PlanOptions& options);

/// The compiler's text with the client's own names in place of the canonical ones.
[[nodiscard]] std::string WithClientNames(const BuildPlan& plan, std::string_view text);

/// Whether canonical names stand in a cubin or PTX: the output shows its paths in a way that the
/// plan could not foresee. (LTO-IR and OptiX-IR hold the compiler's names always, without meaning.)
[[nodiscard]] bool ShowsCanonicalNames(const BuildPlan& plan, const Artifact& artifact);

}  // namespace cccl_cached
