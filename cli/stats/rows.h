// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/daemon_answers.h"

namespace cccl_cache::cli {

/// Returns the percentage of builds for which no compile was needed, as text.
[[nodiscard]] std::string HitRate(const Statistics& stats);

/// Returns the value of the label `name`, or "" if the statistic has no such label. Values are not
/// unescaped, because the daemon's values have no characters that need escaping.
[[nodiscard]] std::string_view LabelOf(const Statistic& statistic, std::string_view name);

/// One row of a table: the counts for one user, toolchain or kind of build.
struct Row {
  double builds = 0;
  double hits = 0;
  double joined = 0;
  double compiled = 0;
  double failed = 0;
  double errors = 0;
  double compile_seconds = 0;
  double saved_seconds = 0;
  double saved_unknown = 0;
  double deposit_hits = 0;  ///< also those that had to wait for another caller to make the deposit
  double deposits_made = 0;

  void Add(const Statistic& statistic);
};

/// One row of the table of namespaces.
struct NamespaceRow {
  double hits = 0;
  double joined = 0;
  double made = 0;
  double read_bytes = 0;
  double made_bytes = 0;
  double saved_seconds = 0;

  void Add(const Statistic& statistic);
};

using Rows = std::vector<std::pair<std::string, Row>>;
/// Returns the rows in descending order of their numbers of builds. `by` is the label that selects
/// the row of a statistic.
[[nodiscard]] Rows RowsBy(const Statistics& stats, std::string_view by);

/// Returns the rows in descending order of their numbers of deposits.
[[nodiscard]] std::vector<std::pair<std::string, NamespaceRow>> NamespaceRows(
    const Statistics& stats);

}  // namespace cccl_cache::cli
