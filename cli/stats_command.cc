// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/stats_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cccl_cache/client.h"
#include "cli/command.h"

namespace cccl_cache::cli {
namespace {

struct Statistic {
  std::string_view name;
  std::string_view label;
  double value;
  bool gauge;
  std::string_view help;
};

// Those of one name stand together, in the order in which the daemon named them first.
std::vector<Statistic> Grouped(const cccl_cache_stats* stats) {
  std::vector<Statistic> all;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < cccl_cache_stats_count(stats); ++i) {
    cccl_cache_statistic given = {};
    given.struct_size = sizeof(given);
    cccl_cache_stats_item(stats, i, &given);
    all.push_back(
        {View(given.name), View(given.label), given.value, given.gauge != 0, View(given.help)});
    if (std::find(names.begin(), names.end(), all.back().name) == names.end()) {
      names.push_back(all.back().name);
    }
  }
  std::stable_sort(all.begin(), all.end(), [&](const Statistic& a, const Statistic& b) {
    return std::find(names.begin(), names.end(), a.name) <
           std::find(names.begin(), names.end(), b.name);
  });
  return all;
}

std::string Number(double value) {
  std::string text = JsonWriter().Number(value).Finish();
  text.pop_back();
  return text;
}

double Sum(const std::vector<Statistic>& all, std::string_view name) {
  double sum = 0;
  for (const Statistic& each : all) {
    if (each.name == name) sum += each.value;
  }
  return sum;
}

std::string Line(std::string name, const std::string& value) {
  constexpr size_t kColumn = 36;
  name.resize(std::max(name.size() + 1, kColumn), ' ');
  return name + value + "\n";
}

int Run(bool openmetrics, const CommonOptions& common) {
  if (openmetrics && common.json) {
    return FailUsage("--json and --openmetrics exclude each other", common);
  }
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Client::Stats> stats = client->GetStats();
  if (!stats.ok()) return Fail(stats.error(), common);
  if (openmetrics) return Print(StatsOpenMetrics(stats->get()));
  return Print(common.json ? StatsJson(stats->get()) : StatsText(stats->get()));
}

}  // namespace

std::string StatsJson(const cccl_cache_stats* stats) {
  const std::vector<Statistic> all = Grouped(stats);
  JsonWriter json;
  json.BeginObject();
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
  json.Key("version").String(View(cccl_cache_stats_version(stats)));
  return json.EndObject().Finish();
}

std::string StatsOpenMetrics(const cccl_cache_stats* stats) {
  constexpr std::string_view kTotal = "_total";
  std::string text;
  std::string_view family;
  for (const Statistic& each : Grouped(stats)) {
    const bool counter = !each.gauge && each.name.ends_with(kTotal);
    std::string name = "cccl_cached_" + std::string(each.name);
    if (counter) name.resize(name.size() - kTotal.size());
    if (each.name != family) {
      text += "# HELP " + name + " " + std::string(each.help) + "\n";
      text += "# TYPE " + name + (counter ? " counter\n" : " gauge\n");
      family = each.name;
    }
    text += name.append(counter ? kTotal : "");
    if (!each.label.empty()) text += "{tier=\"" + std::string(each.label) + "\"}";
    text += " " + Number(each.value) + "\n";
  }
  return text + "# EOF\n";
}

std::string StatsText(const cccl_cache_stats* stats) {
  const std::vector<Statistic> all = Grouped(stats);
  std::string text = Line("version", std::string(View(cccl_cache_stats_version(stats))));
  for (const Statistic& each : all) {
    const std::string tier = each.label.empty() ? "" : " (" + std::string(each.label) + ")";
    text += Line(std::string(each.name) + tier, Number(each.value));
  }
  const double saved = Sum(all, "hits_total") + Sum(all, "joins_total");
  const double asked = saved + Sum(all, "compiles_total");
  char rate[64] = "no builds yet";
  if (asked > 0) std::snprintf(rate, sizeof(rate), "%.1f %%", 100 * saved / asked);
  return text +
         Line("hit rate", std::string(rate) + "  (hits and joins, of hits, joins and compiles)");
}

void AddStatsCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("stats", "Show what the daemon counted");
  command->footer("Example: cccl-cache-cli stats --json");
  const auto openmetrics = std::make_shared<bool>(false);
  command->add_flag("--openmetrics", *openmetrics, "Write OpenMetrics text, for Prometheus");
  command->callback([openmetrics, &common, exit_code] { *exit_code = Run(*openmetrics, common); });
}

}  // namespace cccl_cache::cli
