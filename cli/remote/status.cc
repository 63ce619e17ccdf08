// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/remote/status.h"

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "cccl_cache/client.h"

namespace cccl_cache::cli {
namespace {

constexpr std::string_view kRemotePrefix = "remote_";

/// Returns the daemon's statistics of Redis by name, without the prefix; none if it has no Redis.
std::map<std::string, double, std::less<>> Of(const cccl_cache_stats* stats) {
  std::map<std::string, double, std::less<>> values;
  for (size_t index = 0; index < cccl_cache_stats_count(stats); ++index) {
    cccl_cache_statistic each = {};
    each.struct_size = sizeof(each);
    cccl_cache_stats_item(stats, index, &each);
    const std::string_view name = View(each.name);
    if (name.starts_with(kRemotePrefix))
      values.emplace(name.substr(kRemotePrefix.size()), each.value);
    if (name == "hits_total" && View(each.label) == "remote") values["hits_total"] = each.value;
  }
  if (!values.contains("connected")) values.clear();
  return values;
}

std::string Text(const std::map<std::string, double, std::less<>>& values) {
  if (values.empty()) {
    return "no Redis is configured: --remote-url, or remote_url in the daemon's configuration\n";
  }
  const auto number = [&values](std::string_view name) {
    const auto found = values.find(name);
    return std::to_string(found == values.end() ? 0 : static_cast<uint64_t>(found->second));
  };
  std::string refused;
  for (const std::string_view reason :
       {"untrusted", "forged", "other_key", "expired", "malformed", "oversized", "corrupt"}) {
    const std::string count = number(std::string(reason) + "_total");
    if (count == "0") continue;
    refused += (refused.empty() ? "" : ", ") + count + " " + std::string(reason);
  }
  return std::string("Redis     ") +
         (values.at("connected") != 0 ? "connected"
                                      : "not connected: the daemon's log says why; builds go on "
                                        "without it") +
         "\nfound     " + number("hits_total") + " hits, " + number("lookups_total") +
         " lookups, " + number("late_total") + " answers too late" +  //
         "\nrefused   " + (refused.empty() ? "0" : refused) +         //
         "\nwritten   " + number("writes_total") + " entries, " + number("writes_failed_total") +
         " failed, " + number("stayed_home_total") + " too large" +  //
         "\ncompiles  " + number("leases_total") + " for all nodes, " + number("waits_total") +
         " waits for another node, " + number("waits_in_vain_total") + " in vain\n";
}

int ShowStatus(const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Client::Stats> stats = client->GetStats();
  if (!stats.ok()) return Fail(stats.error(), common);
  const auto values = Of(stats->get());
  if (!common.json) return Print(Text(values));
  JsonWriter json = BeginAnswer();
  json.Key("configured").Boolean(!values.empty());
  if (!values.empty()) json.Key("connected").Boolean(values.at("connected") != 0);
  for (const auto& [name, value] : values) {
    if (name != "connected") json.Key(name).Integer(static_cast<int64_t>(value));
  }
  return Print(json.EndObject().Finish());
}

}  // namespace

void AddRemoteStatusCommand(CLI::App* remote, const CommonOptions& common, int* exit_code) {
  CLI::App* command = remote->add_subcommand(
      "status", "Whether the daemon is connected with Redis, and what it took and gave");
  command->footer("Example: cccl-cache-cli remote status");
  command->callback([&common, exit_code] { *exit_code = ShowStatus(common); });
}

}  // namespace cccl_cache::cli
