// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/stats/rows.h"

#include <algorithm>
#include <functional>
#include <map>

#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {

std::string HitRate(const Statistics& stats) {
  const double saved = stats.Sum("hits_total") + stats.Sum("joins_total");
  const double asked = saved + stats.Sum("compiles_total");
  return asked > 0 ? Fixed(100 * saved / asked, "%") : "none yet";
}

std::string_view LabelOf(const Statistic& statistic, std::string_view name) {
  std::string_view rest = statistic.labels;
  while (!rest.empty()) {
    const size_t equals = std::min(rest.find("=\""), rest.size());
    const size_t end = std::min(rest.find('"', equals + 2), rest.size());
    if (rest.substr(0, equals) == name) return rest.substr(equals + 2, end - equals - 2);
    rest.remove_prefix(std::min(rest.size(), end + 2));
  }
  return {};
}

void Row::Add(const Statistic& statistic) {
  const std::string_view name = statistic.name;
  const double value = statistic.value;
  if (name.starts_with("compile_")) {
    compile_seconds += value;
  } else if (name.starts_with("saved_seconds_")) {
    saved_seconds += value;
  } else if (name.starts_with("saved_unknown_")) {
    saved_unknown += value;
  } else if (name.starts_with("deposits_")) {
    (LabelOf(statistic, "outcome") == "built" ? deposits_made : deposit_hits) += value;
  } else {
    const std::string_view outcome = LabelOf(statistic, "outcome");
    builds += value;
    double& count = outcome == "hit"      ? hits
                    : outcome == "joined" ? joined
                    : outcome == "failed" ? failed
                    : outcome == "error"  ? errors
                                          : compiled;
    count += value;
  }
}

void NamespaceRow::Add(const Statistic& statistic) {
  if (statistic.name == "deposits_by_namespace_total") {
    const std::string_view outcome = LabelOf(statistic, "outcome");
    (outcome == "hit" ? hits : outcome == "joined" ? joined : made) += statistic.value;
  } else if (statistic.name == "deposit_bytes_by_namespace_total") {
    const bool read = LabelOf(statistic, "direction") == "read";
    (read ? read_bytes : made_bytes) += statistic.value;
  } else {
    saved_seconds += statistic.value;
  }
}

Rows RowsBy(const Statistics& stats, std::string_view by) {
  const bool user = by == "user";
  const std::vector<std::string_view> names =
      user ? std::vector<std::string_view>{"builds_by_user_total", "compile_seconds_by_user_total",
                                           "saved_seconds_by_user_total",
                                           "saved_unknown_by_user_total", "deposits_by_user_total"}
           : std::vector<std::string_view>{
                 "builds_by_toolchain_total", "compile_duration_seconds_sum",
                 "saved_seconds_by_toolchain_total", "saved_unknown_by_toolchain_total"};
  std::map<std::string, Row> rows;
  for (const Statistic& each : stats.statistics) {
    if (std::find(names.begin(), names.end(), each.name) == names.end()) continue;
    const std::string_view key = LabelOf(each, by);
    rows[key.empty() ? "none" : std::string(key)].Add(each);
  }
  Rows sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.builds > b.second.builds; });
  return sorted;
}

std::vector<std::pair<std::string, NamespaceRow>> NamespaceRows(const Statistics& stats) {
  std::map<std::string, NamespaceRow> rows;
  for (const Statistic& each : stats.statistics) {
    const std::string name(LabelOf(each, "namespace"));
    if (!name.empty()) rows[name].Add(each);
  }
  std::vector<std::pair<std::string, NamespaceRow>> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& named) {
    const NamespaceRow& row = named.second;
    return row.hits + row.joined + row.made;
  });
  return sorted;
}

}  // namespace cccl_cache::cli
