// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "daemon/core/model/tier.h"

namespace cccl_cache::daemon {

/// The tiers that come before the first one that keeps who asks it waiting, for a disk or for
/// another node.
[[nodiscard]] inline std::vector<Tier*> TiersAtOnce(const std::vector<Tier*>& tiers) {
  const auto waits = [](const Tier* tier) {
    return tier->name() == TierName::kDisk || tier->name() == TierName::kRemote;
  };
  return {tiers.begin(), std::ranges::find_if(tiers, waits)};
}

}  // namespace cccl_cache::daemon
