// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/daemon_answers.h"

namespace cccl_cache::cli {

/// Return the daemon's statistics as one JSON object, as a line for each, and as a summary of six
/// lines. `problem`: the daemon's own, or "".
[[nodiscard]] std::string StatsJson(const Statistics& stats);
[[nodiscard]] std::string StatsText(const Statistics& stats);
[[nodiscard]] std::string StatsSummary(const Statistics& stats, std::string_view socket,
                                       std::string_view problem);

/// Return detailed statistics as OpenMetrics text, and as the older Prometheus text that
/// node_exporter reads from files. `by_user`: with those of single users.
[[nodiscard]] std::string StatsOpenMetrics(const Statistics& stats, bool by_user);
[[nodiscard]] std::string StatsPrometheus(const Statistics& stats, bool by_user);

/// Returns detailed statistics as a table with a row for each user, toolchain or kind of build,
/// ordered by builds, the most first. `by`: the name of that label.
[[nodiscard]] std::string StatsTable(const Statistics& stats, std::string_view by);
[[nodiscard]] std::string StatsTableJson(const Statistics& stats, std::string_view by);

/// Return the lines of `stats --watch`: the rates between two answers of the daemon, and its
/// current state.
[[nodiscard]] std::string StatsRatesHeader();
[[nodiscard]] std::string StatsRates(const Statistics& before, const Statistics& now,
                                     double seconds);

}  // namespace cccl_cache::cli
