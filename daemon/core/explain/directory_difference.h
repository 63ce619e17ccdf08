// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/core/explain/build_difference.h"
#include "daemon/core/lookup/history.h"

namespace cccl_cache::daemon {

/// In what the directories of two builds differ as far as their fingerprints know them: by their
/// paths only where both outputs show paths. The search orders are compared as sequences: one that
/// is there in addition, or not any more, is told by its own name, what follows it is not. A
/// working directory that differs is told once, and not again for each directory below it. Pure.
[[nodiscard]] std::vector<Difference> DirectoryDifferences(const PastBuild& was,
                                                           const PastBuild& is);

}  // namespace cccl_cache::daemon
