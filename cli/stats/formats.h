// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/daemon_answers.h"

namespace cccl_cache::cli {

/// The daemon's statistics as one JSON object, as a line for each, and in six lines. `problem`: as
/// the daemon has it, empty if none.
[[nodiscard]] std::string StatsJson(const Statistics& stats);
[[nodiscard]] std::string StatsText(const Statistics& stats);
[[nodiscard]] std::string StatsSummary(const Statistics& stats, std::string_view socket,
                                       std::string_view problem);

/// Detailed statistics as OpenMetrics text, and as the text that Prometheus had before, which
/// node_exporter reads from files. `by_user`: with those of single users.
[[nodiscard]] std::string StatsOpenMetrics(const Statistics& stats, bool by_user);
[[nodiscard]] std::string StatsPrometheus(const Statistics& stats, bool by_user);

/// Detailed statistics as a table with one row for each user, toolchain or kind of build, the
/// largest number of builds first. `by`: the name of that label.
[[nodiscard]] std::string StatsTable(const Statistics& stats, std::string_view by);
[[nodiscard]] std::string StatsTableJson(const Statistics& stats, std::string_view by);

/// The lines of `stats --watch`: the rates between two answers of the daemon, and its current
/// state.
[[nodiscard]] std::string StatsRatesHeader();
[[nodiscard]] std::string StatsRates(const Statistics& before, const Statistics& now,
                                     double seconds);

}  // namespace cccl_cache::cli
