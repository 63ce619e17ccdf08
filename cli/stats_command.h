// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cccl_cache/client_c.h"

namespace cccl_cache::cli {

/// The daemon's statistics as one JSON object, as OpenMetrics text, as a line for each, and in six
/// lines. `problem`: as the daemon has it, empty if none.
[[nodiscard]] std::string StatsJson(const cccl_cache_stats* stats);
[[nodiscard]] std::string StatsOpenMetrics(const cccl_cache_stats* stats);
[[nodiscard]] std::string StatsText(const cccl_cache_stats* stats);
[[nodiscard]] std::string StatsSummary(const cccl_cache_stats* stats, std::string_view socket,
                                       std::string_view problem);

}  // namespace cccl_cache::cli
