// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/client_c.h"

namespace cccl_cache::cli {

/// The daemon's statistics as one JSON object, as OpenMetrics text, and for people.
[[nodiscard]] std::string StatsJson(const cccl_cache_stats* stats);
[[nodiscard]] std::string StatsOpenMetrics(const cccl_cache_stats* stats);
[[nodiscard]] std::string StatsText(const cccl_cache_stats* stats);

}  // namespace cccl_cache::cli
