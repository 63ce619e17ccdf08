// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "cli/daemon_answers.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

constexpr std::string_view kRemotePrefix = "remote_";
constexpr std::string_view kShelfPrefix = "shelf_";

using Values = std::map<std::string, double, std::less<>>;

/// The state of the daemon's Redis connection and of its shelves (directories of snapshots).
struct RemoteStatus {
  std::string address;  ///< address of Redis; empty if the daemon is of an older release
  std::string problem;  ///< why a Redis server is not connected; empty if all are
  /// The statistics of Redis by name, without the prefix "remote_". Empty if no Redis is
  /// configured. `shelves` likewise has those with the prefix "shelf_".
  Values values = {};
  Values shelves = {};
};

std::string NumberIn(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return std::to_string(found == values.end() ? 0 : static_cast<uint64_t>(found->second));
}

RemoteStatus Of(const Statistics& stats) {
  RemoteStatus status{stats.remote.address, stats.remote.problem};
  auto& [address, problem, values, shelves] = status;
  for (const auto& [name, label, value, gauge, help, labels] : stats.statistics) {
    if (name.starts_with(kRemotePrefix)) values.emplace(name.substr(kRemotePrefix.size()), value);
    if (name.starts_with(kShelfPrefix)) shelves.emplace(name.substr(kShelfPrefix.size()), value);
    if (name == "shelves") shelves["directories"] = value;
    if (name != "hits_total") continue;
    if (label == "remote") values["hits_total"] = value;
    if (label == "shelf") shelves["hits_total"] = value;
  }
  if (!values.contains("connected")) values.clear();
  if (!shelves.contains("directories")) shelves.clear();
  return status;
}

/// Returns the state of the connection, for example "connected to redis://10.0.0.1:6379".
std::string Connection(const RemoteStatus& status) {
  const std::string to = status.address.empty() ? "" : " to " + status.address;
  const std::string problem = Printable(status.problem);
  if (status.values.at("connected") == 0) {
    return "not connected" + to + ": " + (problem.empty() ? "the daemon's log says why" : problem) +
           "; builds continue without it";
  }
  const std::string nodes = NumberIn(status.values, "nodes");
  if (!problem.empty()) {
    return NumberIn(status.values, "nodes_connected") + " of " + nodes + " nodes connected" + to +
           "; " + problem + "; builds continue without their entries";
  }
  const bool cluster = nodes != "0" && nodes != "1";  // daemons of older releases report no number
  return "connected" + to + (cluster ? ", all " + nodes + " nodes" : "");
}

std::string TextOfShelves(const Values& shelves) {
  const auto number = [&shelves](std::string_view name) { return NumberIn(shelves, name); };
  const std::string problems = number("problems");
  const std::string silent = number("silent");
  const std::string hits = number("hits_total");
  return "Shelves   " + number("directories") + "; snapshots " + number("snapshots") +
         ", entries " + number("entries") +
         (problems == "0" ? "" : "; unusable " + problems + ": the daemon's log says why") +
         (silent == "0" ? ""
                        : "; silent " + silent + ", for " + number("silent_seconds") +
                              " s: see whether it is mounted and its server answers; the daemon's "
                              "log names it") +
         "\nof those  " + hits + (hits == "1" ? " hit, " : " hits, ") + number("late_total") +
         " answers too late, " + number("refused_total") + " refused\n";
}

std::string TextOfRedis(const RemoteStatus& status) {
  const auto& values = status.values;
  const auto number = [&values](std::string_view name) { return NumberIn(values, name); };
  std::string refused;
  for (const std::string_view reason : kRefusals) {
    const std::string count = number(std::string(reason) + "_total");
    if (count == "0") continue;
    refused += (refused.empty() ? "" : ", ") + count + " " + std::string(reason);
  }
  const bool signs = number("signs") != "0";
  const std::string hits = number("hits_total");
  std::string answers;
  if (number("answers_total") != "0") {
    const double seconds = values.at("answer_seconds_total") / values.at("answers_total");
    answers = " (" + Fixed(1000 * seconds, "ms") + " for an answer)";
  }
  return "Redis     " + Connection(status) +  //
         "\nkeys      " + number("trusted_keys") + " trusted, " +
         (!signs                             ? "and this node only reads"
          : number("own_key_trusted") == "0" ? "its own not among them, and this node signs"
                                             : "and this node signs") +
         "\nfound     " + hits + (hits == "1" ? " hit, " : " hits, ") + number("deposits_total") +
         " deposits, " + number("lookups_total") + " lookups" + answers + ", " +
         number("late_total") + " answers too late" +          //
         "\nrefused   " + (refused.empty() ? "0" : refused) +  //
         "\nwritten   " + number("writes_total") + " entries, " + number("writes_failed_total") +
         " failed, " + number("stayed_home_total") + " too large" +  //
         "\ncompiles  " + number("leases_total") + " for all nodes, " + number("waits_total") +
         " waits for another node, " + number("waits_in_vain_total") + " in vain\n";
}

std::string Text(const RemoteStatus& status) {
  const std::string redis =
      status.values.empty()
          ? "no Redis is configured: --remote-url, or remote_url in the daemon's configuration\n"
          : TextOfRedis(status);
  return status.shelves.empty() ? redis : redis + TextOfShelves(status.shelves);
}

int ShowStatus(const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Statistics> stats = AskStatistics(*client);
  if (!stats.ok()) return Fail(stats.error(), common);
  const RemoteStatus status = Of(*stats);
  if (!common.json) return Print(Text(status));
  JsonWriter json = BeginAnswer();
  const bool configured = !status.values.empty();
  json.Fields("configured", configured);
  if (configured) {
    json.Fields("connected", status.values.at("connected") != 0, "address", status.address,
                "problem", status.problem);
  }
  for (const auto& [name, value] : status.values) {
    if (name != "connected") json.Key(name).Number(value);
  }
  if (!status.shelves.empty()) {
    json.Key("shelves").BeginObject();
    for (const auto& [name, value] : status.shelves)
      json.Key(name).Integer(static_cast<int64_t>(value));
    json.EndObject();
  }
  return Print(json.EndObject().Finish());
}

void AddStatusCommand(CLI::App* remote, const CommonOptions& common, int* exit_code) {
  CLI::App* command = remote->add_subcommand(
      "status",
      "Whether the daemon is connected with Redis, what is on its shelves, and what it shared");
  command->footer("Example: cccl-cache-cli remote status");
  command->callback([&common, exit_code] { *exit_code = ShowStatus(common); });
}

}  // namespace

void AddRemoteCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "remote", "The nodes that share results through Redis: its state, and their keys");
  command->group("Entries");
  command->require_subcommand(1);
  command->footer(
      "A node takes only entries that a key of its list signed.\n"
      "Example: cccl-cache-cli remote status");
  AddWhenParsed(command, common, [command, &common, exit_code] {
    AddStatusCommand(command, common, exit_code);
    AddKeyCommands(command, common, exit_code);
  });
}

}  // namespace cccl_cache::cli
