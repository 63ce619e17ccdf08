// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/search_places.h"

namespace cccl_cache::daemon {

struct FoundInstallations {
  std::vector<Installation> installations;    ///< in search order, each once
  std::vector<RejectedToolchain> incomplete;  ///< parts that are of no use, or places without any
};

/// Goes through all places. Looks at names and, to tell whose headers they are, at the beginning of
/// cuda_runtime_api.h; trusts nothing. One installation that is reached by two names comes once,
/// with the other names as aliases of its header directories.
[[nodiscard]] FoundInstallations FindInstallations(const SearchPlaces& places);

}  // namespace cccl_cache::daemon
