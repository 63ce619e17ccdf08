// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/stats_command.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cccl_cache/client.h"
#include "cli/command.h"
#include "cli/quantities.h"

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

/// Returns the sum over one tier, or over all tiers.
double Sum(const std::vector<Statistic>& all, std::string_view name, std::string_view tier = {}) {
  double sum = 0;
  for (const Statistic& each : all) {
    if (each.name == name && (tier.empty() || each.label == tier)) sum += each.value;
  }
  return sum;
}

/// Returns the share of builds that were served without a compile.
std::string HitRate(const std::vector<Statistic>& all) {
  const double saved = Sum(all, "hits_total") + Sum(all, "joins_total");
  const double asked = saved + Sum(all, "compiles_total");
  return asked > 0 ? Fixed(100 * saved / asked, "%") : "none yet";
}

std::string Line(std::string name, const std::string& value) {
  constexpr size_t kColumn = 36;
  name.resize(std::max(name.size() + 1, kColumn), ' ');
  return name + value + "\n";
}

std::string Problem(Client& client) {
  const Expected<Client::Info> info = client.GetInfo();
  if (!info.ok()) return "not known: " + info.error().message;
  cccl_cache_daemon daemon = {};
  daemon.struct_size = sizeof(daemon);
  cccl_cache_info_describe(info->get(), &daemon);
  return std::string(View(daemon.problem));
}

int Run(bool openmetrics, bool verbose, const CommonOptions& common) {
  if (openmetrics && common.json) {
    return FailUsage("--json and --openmetrics exclude each other", common);
  }
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Client::Stats> stats = client->GetStats();
  if (!stats.ok()) return Fail(stats.error(), common);
  if (openmetrics) return Print(StatsOpenMetrics(stats->get()));
  if (common.json) return Print(StatsJson(stats->get()));
  if (verbose) return Print(StatsText(stats->get()));
  return Print(StatsSummary(stats->get(), client->socket(), Problem(*client)));
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
  return text + Line("hit rate", HitRate(all) + "  (hits and joins, of hits, joins and compiles)");
}

std::string StatsSummary(const cccl_cache_stats* stats, std::string_view socket,
                         std::string_view problem) {
  const std::vector<Statistic> all = Grouped(stats);
  const auto count = [&all](std::string_view name, std::string_view tier = {}) {
    return Count(Sum(all, name, tier));
  };
  return "cccl-cached " + std::string(View(cccl_cache_stats_version(stats))) + " at " +
         std::string(socket) + ", up " + Duration(Sum(all, "uptime_seconds")) + "\n" +
         "Builds    " + count("builds_total") + ": " + count("hits_total") + " hits (memory " +
         count("hits_total", "memory") + ", disk " + count("hits_total", "disk") + "), " +
         count("joins_total") + " joined another's compile, " + count("compiles_total") +
         " compiled, " + count("compile_failures_total") + " failed; hit rate " + HitRate(all) +
         "\n" + "Saved     " + Duration(Sum(all, "saved_seconds_total")) +
         " of compile time, spent " + Duration(Sum(all, "compile_seconds_total")) + "\n" +
         "Stored    " + Use(Sum(all, "bytes"), Sum(all, "store_limit_bytes")) + " in " +
         count("entries") + " entries, " + count("evictions_total") + " evicted; deposits " +
         Bytes(Sum(all, "deposit_bytes")) + "\n" + "Now       " + count("in_flight") +
         " compiling, " + count("queued") + " queued, " + count("clients") + " connections\n" +
         "Problem   " + (problem.empty() ? "none" : std::string(problem)) +
         "   (-v: all counters)\n";
}

void AddStatsCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "stats", "Show the daemon's counters: hits, time saved, size of the cache");
  command->group("Daemon");
  command->footer("Example: cccl-cache-cli stats --json");
  const auto openmetrics = std::make_shared<bool>(false);
  command->add_flag("--openmetrics", *openmetrics, "Write OpenMetrics text, for Prometheus");
  const auto verbose = std::make_shared<bool>(false);
  command->add_flag("-v,--verbose", *verbose, "Show all counters");
  command->callback([openmetrics, verbose, &common, exit_code] {
    *exit_code = Run(*openmetrics, *verbose, common);
  });
}

}  // namespace cccl_cache::cli
