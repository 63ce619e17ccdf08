// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/model/artifact.h"
#include "daemon/core/plan/build_plan.h"

namespace cccl_cache::daemon {

/// The compiler's text with the client's own names in place of the canonical ones.
[[nodiscard]] std::string WithClientNames(const BuildPlan& plan, std::string_view text);

/// Whether canonical names stand in a cubin or PTX: the output shows its paths in a way that the
/// plan could not foresee.
[[nodiscard]] bool ShowsCanonicalNames(const BuildPlan& plan, const Artifact& artifact);

}  // namespace cccl_cache::daemon
