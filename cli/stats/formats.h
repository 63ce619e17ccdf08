// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/daemon_answers.h"
#include "cli/terminal/user_names.h"

namespace cccl_cache::cli {

/// The functions below return the daemon's statistics: as one JSON object, as text with one line
/// for each statistic, and as a summary of about six lines. `problem` is the problem that the
/// daemon reports, or "". `coloured`: with escape sequences for a terminal.
[[nodiscard]] std::string StatsJson(const Statistics& stats);
[[nodiscard]] std::string StatsText(const Statistics& stats);
[[nodiscard]] std::string StatsSummary(const Statistics& stats, std::string_view socket,
                                       std::string_view problem, bool coloured = false);

/// The functions below return detailed statistics: as OpenMetrics text, and as text in the older
/// Prometheus format, which node_exporter reads from files. `by_user` includes the statistics of
/// single users.
[[nodiscard]] std::string StatsOpenMetrics(const Statistics& stats, bool by_user);
[[nodiscard]] std::string StatsPrometheus(const Statistics& stats, bool by_user);

/// Returns detailed statistics as a table with one row for each user, toolchain or kind of build.
/// `by` is the name of that label. The rows are in descending order of their numbers of builds.
/// Only the text names users by `name_of`.
[[nodiscard]] std::string StatsTable(const Statistics& stats, std::string_view by,
                                     const NameOfUser& name_of);
[[nodiscard]] std::string StatsTableJson(const Statistics& stats, std::string_view by);

/// The functions below return the lines of `stats --watch`: the header, and a line with the rates
/// between two answers of the daemon and its current state. `seconds` is the time between the
/// answers.
[[nodiscard]] std::string StatsRatesHeader();
[[nodiscard]] std::string StatsRates(const Statistics& before, const Statistics& now,
                                     double seconds);

}  // namespace cccl_cache::cli
