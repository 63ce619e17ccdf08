// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/command.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/machine.h"
#include "cccl_cache/client.h"
#include "cli/stats/formats.h"
#include "cli/stats/html.h"
#include "cli/terminal/files.h"
#include "cli/terminal/user_names.h"

namespace cccl_cache::cli {
namespace {

constexpr int kLinesPerHeader = 20;
constexpr double kLeast = 0.01;  // shortest interval between two lines, in seconds
constexpr double kMost = 86400;

struct StatsOptions {
  bool openmetrics = false;
  bool verbose = false;
  bool zero = false;
  std::string by;
  bool prometheus = false;
  std::string watch;  ///< interval in seconds; empty to print only once
  std::string html;   ///< path of the page to write; empty for none
};

std::string Problem(Client& client) {
  const Expected<DaemonInfo> info = AskInfo(client);
  return info.ok() ? info->problem : "not known: " + info.error().message;
}

int WriteHtml(Client& client, const Statistics& stats, const std::string& path,
              const CommonOptions& common) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const HtmlContext context = {
      .node = HostName(),
      .socket = std::string(client.socket()),
      .problem = Problem(client),
      .now_s = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count()),
      .name_of = NamesOfThisSystem()};
  const Expected<Done> written = WriteFile(path, StatsHtml(stats, context));
  return written.ok() ? kDone : Fail(written.error(), common);
}

/// Prints one line of rates for each interval. Returns, with an exit code, when the daemon no
/// longer answers or standard output fails.
int Watch(Client& client, double seconds, const CommonOptions& common) {
  Expected<Statistics> before = AskStatistics(client);
  if (!before.ok()) return Fail(before.error(), common);
  for (int line = 0;; ++line) {
    const auto start = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    Expected<Statistics> now = AskStatistics(client);
    if (!now.ok()) return Fail(now.error(), common);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    const std::string header = line % kLinesPerHeader == 0 ? StatsRatesHeader() : "";
    const int printed = Print(header + StatsRates(*before, *now, passed.count()));
    if (printed != kDone) return printed;
    before = std::move(now);
  }
}

int Run(const StatsOptions& options, const CommonOptions& common) {
  const bool watch = !options.watch.empty();
  double seconds = 1;
  if (watch) {
    const char* const end = options.watch.data() + options.watch.size();
    const auto read = std::from_chars(options.watch.data(), end, seconds);
    if (read.ec != std::errc() || read.ptr != end || !(seconds >= kLeast && seconds <= kMost)) {
      return FailUsage("--watch takes a number of seconds from 0.01 to 86400", common);
    }
  }
  const bool html = !options.html.empty();
  if (options.openmetrics + options.prometheus + common.json + watch + options.zero + html > 1) {
    return FailUsage(
        "--json, --openmetrics, --prometheus, --html, --watch and --zero exclude each other",
        common);
  }
  if (!options.by.empty() &&
      (options.openmetrics || options.prometheus || watch || options.zero || html)) {
    return FailUsage("--by goes with --json alone", common);
  }
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  if (watch) return Watch(*client, seconds, common);
  if (options.zero) {
    const Expected<std::string> zeroed = client->Query("zero-stats");
    return zeroed.ok() ? Print("all totals are zero now\n") : Fail(zeroed.error(), common);
  }
  const bool detailed =
      options.openmetrics || options.prometheus || options.verbose || html || !options.by.empty();
  const Expected<Statistics> stats = AskStatistics(*client, {}, detailed);
  if (!stats.ok()) return Fail(stats.error(), common);
  if (!options.by.empty()) {
    return Print(common.json ? StatsTableJson(*stats, options.by)
                             : StatsTable(*stats, options.by, NamesOfThisSystem()));
  }
  if (html) return WriteHtml(*client, *stats, options.html, common);
  if (options.openmetrics) return Print(StatsOpenMetrics(*stats, /*by_user=*/true));
  if (options.prometheus) return Print(StatsPrometheus(*stats, /*by_user=*/false));
  if (common.json) return Print(StatsJson(*stats));
  if (options.verbose) return Print(StatsText(*stats));
  const std::string problem = Problem(*client);
  return Print(StatsSummary(*stats, client->socket(), problem, WantsColour(STDOUT_FILENO)));
}

}  // namespace

void AddStatsCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "stats", "Show the daemon's counters: hits, time saved, size of the cache");
  command->group("Daemon");
  command->footer(
      "Example: cccl-cache-cli stats --by user\n"
      "Example: cccl-cache-cli stats --html stats.html");
  const auto options = std::make_shared<StatsOptions>();
  command->add_flag("--openmetrics", options->openmetrics, "Write OpenMetrics text");
  command->add_flag("--prometheus", options->prometheus,
                    "Write Prometheus' older text, for node_exporter; without users");
  command->add_flag("-v,--verbose", options->verbose,
                    "Show all counters, and deposits by namespace");
  AcceptOnly(command->add_option("--by", options->by,
                                 "Show builds since the daemon started by user (administrators see "
                                 "all users), toolchain or kind, or deposits by namespace"),
             {"user", "toolchain", "kind", "namespace"});
  command
      ->add_flag("--watch{2}", options->watch,
                 "Print the current rates every 2 s, or as in --watch=0.5")
      ->type_name("SECONDS");
  command
      ->add_option("--html", options->html,
                   "Write one HTML page: hits by hour, time saved by program, the longest compiles")
      ->type_name("FILE");
  command->add_flag("--zero", options->zero, "Set all totals to zero (administrators)");
  command->callback([options, &common, exit_code] { *exit_code = Run(*options, common); });
}

}  // namespace cccl_cache::cli
