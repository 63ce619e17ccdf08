// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/command.h"
#include "cli/stats_format.h"

namespace cccl_cache::cli {
namespace {

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

void AddStatsCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("stats", "Show what the daemon counted");
  command->footer("Example: cccl-cache-cli stats --json");
  const auto openmetrics = std::make_shared<bool>(false);
  command->add_flag("--openmetrics", *openmetrics, "Write OpenMetrics text, for Prometheus");
  command->callback([openmetrics, &common, exit_code] { *exit_code = Run(*openmetrics, common); });
}

}  // namespace cccl_cache::cli
