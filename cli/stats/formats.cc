// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/stats/formats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/stats/rows.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

/// Sorts the statistics so that those with the same name are together. The names keep the order of
/// their first occurrence.
std::vector<Statistic> Grouped(std::vector<Statistic> all) {
  std::map<std::string, size_t> first;
  for (const Statistic& each : all) first.emplace(each.name, first.size());
  std::ranges::stable_sort(all, {}, [&](const Statistic& each) { return first[each.name]; });
  return all;
}

constexpr const char* kMetricPrefix = "cccl_cached_";

/// Returns the name and the type of the Prometheus metric family to which the statistic belongs.
std::pair<std::string_view, std::string_view> FamilyOf(const Statistic& statistic,
                                                       bool openmetrics) {
  const std::string_view name = statistic.name;
  const auto without = [name](std::string_view suffix) {
    return name.substr(0, name.size() - suffix.size());
  };
  if (statistic.gauge) return {name, "gauge"};
  if (name.ends_with("_total")) return {openmetrics ? without("_total") : name, "counter"};
  for (const std::string_view suffix : {"_bucket", "_count", "_sum"}) {
    if (name.ends_with(suffix)) return {without(suffix), "histogram"};
  }
  return {name, "gauge"};
}

/// Returns whether the statistic is for those who may see what single users do.
bool IsOfUsers(const Statistic& statistic) {
  return !LabelOf(statistic, "user").empty() || !LabelOf(statistic, "namespace").empty();
}

/// Returns all statistics in Prometheus' text format, grouped by metric family. Within a family
/// they keep the daemon's order, in which the parts of a histogram are together. In the OpenMetrics
/// format, the family of a counter is named without `_total`, and the version has the type "info".
std::string Exposition(const Statistics& stats, bool by_user, bool openmetrics) {
  std::vector<std::string> order;
  std::map<std::string, std::string> families;
  const auto declare = [&](const std::string& name, std::string_view help, std::string_view type) {
    order.push_back(name);
    return "# HELP " + name + " " + std::string(help) + "\n# TYPE " + name + " " +
           std::string(type) + "\n";
  };
  const std::string build = kMetricPrefix + std::string(openmetrics ? "build" : "build_info");
  families[build] = declare(build, "Version of the daemon.", openmetrics ? "info" : "gauge") +
                    kMetricPrefix + "build_info{version=\"" + stats.version + "\"} 1\n";
  for (const Statistic& each : stats.statistics) {
    if (!by_user && IsOfUsers(each)) continue;
    std::string name = kMetricPrefix + std::string(each.name);
    auto [family, type] = FamilyOf(each, openmetrics);
    std::string declared = kMetricPrefix + std::string(family);
    // A counter may already use the name of this gauge for its family: `leases_total` belongs to
    // the family `leases`. So the gauge is renamed.
    if (each.gauge && stats.Has(each.name + "_total")) declared = name += "_current";
    std::string& text = families[declared];
    if (text.empty()) text = declare(declared, each.help, type);
    text += name;
    if (!each.label.empty()) text += "{tier=\"" + std::string(each.label) + "\"}";
    if (!each.labels.empty()) text += "{" + std::string(each.labels) + "}";
    text += " " + Number(each.value) + "\n";
  }
  std::string text;
  for (const std::string& name : order) text += families[name];
  return text;
}

double Total(const Rows& rows, double Row::*value) {
  double total = 0;
  for (const auto& [key, row] : rows) total += row.*value;
  return total;
}

/// Returns a line with the cells in columns of equal width, right-aligned.
std::string Columns(const std::vector<std::string>& cells) {
  constexpr size_t kWidth = 11;
  std::string line;
  for (const std::string& cell : cells) {
    line.append(cell.size() < kWidth ? kWidth - cell.size() : 1, ' ').append(cell);
  }
  return line + "\n";
}

std::string Line(std::string name, const std::string& value) {
  constexpr size_t kColumn = 36;
  name.resize(std::max(name.size() + 1, kColumn), ' ');
  return name + value + "\n";
}

std::string NamespaceTable(const Statistics& stats) {
  auto rows = NamespaceRows(stats);
  if (rows.empty()) return "no deposits were asked for since the daemon started\n";
  std::string_view head = "namespace";
  size_t width = head.size();
  for (auto& [name, row] : rows) {
    name = Printable(name);
    width = std::max(width, name.size());
  }
  std::string text = std::string(head) + std::string(width - head.size(), ' ') +
                     Columns({"hits", "joined", "made", "read", "written", "saved"});
  for (const auto& [name, row] : rows) {
    text += name + std::string(width - name.size(), ' ') +
            Columns({Count(row.hits), Count(row.joined), Count(row.made), Bytes(row.read_bytes),
                     Bytes(row.made_bytes), Duration(row.saved_seconds)});
  }
  return text;
}

}  // namespace

std::string StatsJson(const Statistics& stats) {
  const std::vector<Statistic> all = Grouped(stats.statistics);
  JsonWriter json = BeginAnswer();
  for (size_t i = 0; i < all.size(); ++i) {
    const bool labelled = !all[i].label.empty();
    const bool first = i == 0 || all[i - 1].name != all[i].name;
    const bool last = i + 1 == all.size() || all[i + 1].name != all[i].name;
    if (first) json.Key(all[i].name);
    if (first && labelled) json.BeginObject();
    if (labelled) json.Key(all[i].label);
    json.Number(all[i].value);
    if (last && labelled) json.EndObject();
  }
  json.Key("version").String(stats.version);
  return json.EndObject().Finish();
}

std::string StatsOpenMetrics(const Statistics& stats, bool by_user) {
  return Exposition(stats, by_user, /*openmetrics=*/true) + "# EOF\n";
}

std::string StatsPrometheus(const Statistics& stats, bool by_user) {
  return Exposition(stats, by_user, /*openmetrics=*/false);
}

std::string StatsText(const Statistics& stats) {
  std::string text = Line("version", Printable(stats.version));
  for (const Statistic& each : Grouped(stats.statistics)) {
    if (!each.labels.empty() || FamilyOf(each, /*openmetrics=*/true).second == "histogram")
      continue;
    const std::string tier = each.label.empty() ? "" : " (" + std::string(each.label) + ")";
    text += Line(std::string(each.name) + tier, Number(each.value));
  }
  text += Line("hit rate", HitRate(stats) + "  (hits and joins, of hits, joins and compiles)");
  return NamespaceRows(stats).empty() ? text : text + "\n" + NamespaceTable(stats);
}

std::string StatsSummary(const Statistics& stats, std::string_view socket, std::string_view problem,
                         bool coloured) {
  const auto count = [&stats](std::string_view name, std::string_view tier = {}) {
    return Count(stats.Sum(name, tier));
  };
  const auto tier_of = [&](std::string_view there, std::string_view tier) {
    if (stats.Sum(there) == 0) return std::string();
    return ", " + std::string(tier) + " " + count("hits_total", tier);
  };
  const std::string shared =
      tier_of("shelves", "shelf") + tier_of("remote_lookups_total", "remote");
  const double unknown = stats.Sum("saved_unknown_total");
  const std::string without =
      unknown == 0 ? "" : ", without " + Many(unknown, "hit") + " of unknown time";
  const double made = stats.Sum("deposits_total");
  const double found = stats.Sum("deposit_hits_total");
  const double joined = stats.Sum("deposit_waits_total");
  std::string deposits;
  if (made + found + joined > 0) {
    deposits = "Deposits  " + Many(found, "hit") + ", " + Count(joined) + " joined another's, " +
               Count(made) + " made (by Triton, numba-cuda, cuda.compute, ptxas, ...); saved " +
               Duration(stats.Sum("deposit_saved_seconds_total")) + "\n";
  }
  const bool remote_away = stats.Has("remote_connected") && stats.Sum("remote_connected") == 0;
  const std::string remote =
      remote_away ? "Remote    not connected: the daemon's log says why\n" : "";
  const double oversized = stats.Sum("oversized_total");
  const std::string too_large =
      oversized == 0 ? "" : ", " + Count(oversized) + " too large to keep";
  const double waiting = stats.Sum("waiting_for_memory");
  const std::string for_memory = waiting == 0 ? "" : " (" + Count(waiting) + " wait for memory)";
  return "cccl-cached " + Printable(stats.version) + " at " + std::string(socket) + ", up " +
         Duration(stats.Sum("uptime_seconds")) + "\n" + "Builds    " + count("builds_total") +
         ": " + Many(stats.Sum("hits_total"), "hit") + " (memory " + count("hits_total", "memory") +
         ", disk " + count("hits_total", "disk") + shared + "), " + count("joins_total") +
         " joined another's compile, " + count("compiles_total") + " compiled (" +
         count("compile_failures_total") + " failed); hit rate " +
         Painted(HitRate(stats), Role::kGood, coloured) + "\n" + "Saved     " +
         Painted(Duration(stats.Sum("saved_seconds_total")), Role::kGood, coloured) +
         " of compile time" + without + ", spent " + Duration(stats.Sum("compile_seconds_total")) +
         "\n" + deposits + "Stored    " + Use(stats.Sum("bytes"), stats.Sum("store_limit_bytes")) +
         ", " + count("evictions_total") + " evicted" + too_large + "; deposits " +
         Bytes(stats.Sum("deposit_bytes")) + "\n" + remote + "Now       " + count("in_flight") +
         " compiling" + for_memory + ", " + count("queued") + " queued, " +
         Many(stats.Sum("clients"), "connection") + "\n" + "Problem   " +
         (problem.empty() ? "none" : Painted(Printable(problem), Role::kBad, coloured)) +
         "   (-v: all counters)\n";
}

std::string StatsTable(const Statistics& stats, std::string_view by, const NameOfUser& name_of) {
  if (by == "namespace") return NamespaceTable(stats);
  Rows rows = RowsBy(stats, by);
  if (rows.empty()) {
    const std::vector<Statistic>& all = stats.statistics;
    const bool detailed = std::any_of(all.begin(), all.end(),
                                      [](const Statistic& each) { return !each.labels.empty(); });
    return detailed ? "no builds since the daemon started\n"
                    : "this daemon is older and counts only in all: see stats\n";
  }
  size_t width = by.size();
  for (auto& [key, row] : rows) {
    key = Printable(by == "user" ? name_of(key) : key);
    width = std::max(width, key.size());
  }
  const bool unknown = Total(rows, &Row::saved_unknown) > 0;
  const bool deposits = Total(rows, &Row::deposit_hits) + Total(rows, &Row::deposits_made) > 0;
  std::vector<std::string> heads = {"builds", "hits",   "joined",    "compiled",
                                    "failed", "errors", "compiling", "saved"};
  if (unknown) heads.push_back("unknown");
  if (deposits) heads.insert(heads.end(), {"dep. hits", "dep. made"});
  std::string text = std::string(by) + std::string(width - by.size(), ' ') + Columns(heads);
  for (const auto& [key, row] : rows) {
    std::vector<std::string> cells = {Count(row.builds),
                                      Count(row.hits),
                                      Count(row.joined),
                                      Count(row.compiled),
                                      Count(row.failed),
                                      Count(row.errors),
                                      Duration(row.compile_seconds),
                                      Duration(row.saved_seconds)};
    if (unknown) cells.push_back(Count(row.saved_unknown));
    if (deposits) cells.insert(cells.end(), {Count(row.deposit_hits), Count(row.deposits_made)});
    text += key + std::string(width - key.size(), ' ') + Columns(cells);
  }
  return text;
}

std::string StatsTableJson(const Statistics& stats, std::string_view by) {
  JsonWriter json = BeginAnswer();
  json.Key("by").String(by).Key("rows").BeginArray();
  if (by == "namespace") {
    for (const auto& [name, row] : NamespaceRows(stats)) {
      json.BeginObject().Fields(by, name, "hits", row.hits, "joined", row.joined, "made", row.made,
                                "read_bytes", row.read_bytes, "made_bytes", row.made_bytes,
                                "saved_seconds", row.saved_seconds);
      json.EndObject();
    }
    return json.EndArray().Key("version").String(stats.version).EndObject().Finish();
  }
  for (const auto& [key, row] : RowsBy(stats, by)) {
    json.BeginObject().Fields(by, key, "builds", row.builds, "hits", row.hits, "joined", row.joined,
                              "compiled", row.compiled, "failed", row.failed, "errors", row.errors,
                              "compile_seconds", row.compile_seconds, "saved_seconds",
                              row.saved_seconds, "saved_unknown", row.saved_unknown, "deposit_hits",
                              row.deposit_hits, "deposits_made", row.deposits_made);
    json.EndObject();
  }
  json.EndArray().Key("version").String(stats.version);
  return json.EndObject().Finish();
}

std::string StatsRatesHeader() {
  return Columns({"builds/s", "hits/s", "joined/s", "compiles/s", "hit rate", "compiling", "queued",
                  "stored"});
}

std::string StatsRates(const Statistics& before, const Statistics& now, double seconds) {
  // A total may decrease if it is reset or the daemon loses its state. Then the rate is 0.
  const auto more = [&](std::string_view name) {
    return std::max(0.0, now.Sum(name) - before.Sum(name));
  };
  const double saved = more("hits_total") + more("joins_total");
  const double asked = saved + more("compiles_total");
  const auto rate = [&](std::string_view name) {
    return Number(std::round(10 * more(name) / seconds) / 10);
  };
  return Columns({rate("builds_total"), rate("hits_total"), rate("joins_total"),
                  rate("compiles_total"), asked > 0 ? Fixed(100 * saved / asked, "%") : "-",
                  Count(now.Sum("in_flight")), Count(now.Sum("queued")), Bytes(now.Sum("bytes"))});
}

}  // namespace cccl_cache::cli
