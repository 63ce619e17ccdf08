// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/App.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/json.h"
#include "cli/daemon_answers.h"
#include "cli/terminal/command.h"

namespace cccl_cache::cli {
namespace {

// A daemon that has just started answers this request after it has found its toolchains.
constexpr std::chrono::seconds kToolchainPatience{2};

struct Health {
  bool serving = false;
  std::string socket;
  DaemonInfo daemon = {};
  std::optional<size_t> toolchains = {};  ///< number of toolchains; none if it is not known
};

Expected<Health> Ask(Client* client) {
  const Expected<bool> serving = client->Health();
  if (!serving.ok()) return serving.error();
  Health health{.serving = *serving, .socket = std::string(client->socket())};
  // The toolchains are requested first. This waits while the daemon searches for toolchains, and
  // until then the search would be reported as its problem.
  const Expected<ToolchainList> list = AskToolchains(*client, 0, kToolchainPatience);
  if (list.ok()) health.toolchains = list->toolchains.size();
  Expected<DaemonInfo> info = AskInfo(*client);
  if (!info.ok()) return info.error();
  health.daemon = *std::move(info);
  return health;
}

std::string Status(const Health& health) { return health.serving ? "serving" : "not serving"; }

std::string Text(const Health& health, bool coloured) {
  const std::string status =
      Painted(Status(health), health.serving ? Colour::kGreen : Colour::kRed, coloured);
  std::string text =
      "cccl-cached " + health.daemon.version + " at " + health.socket + ": " + status + "\n";
  if (!health.daemon.problem.empty())
    text += Painted(health.daemon.problem, Colour::kYellow, coloured) + "\n";
  return text;
}

std::string Json(const Health& health) {
  JsonWriter json = BeginAnswer();
  const DaemonInfo& daemon = health.daemon;
  json.Fields("status", Status(health), "socket", health.socket, "version", daemon.version,
              "api_minor", daemon.api_minor, "fingerprint_layout", daemon.fingerprint_layout, "uid",
              daemon.uid);
  if (health.toolchains) json.Fields("toolchains", *health.toolchains);
  json.Fields("problem", daemon.problem).Key("limits").BeginObject();
  for (const auto& [name, limit] : daemon.limits) json.Fields(name, limit);
  return json.EndObject().EndObject().Finish();
}

int Run(const CommonOptions& common, bool ready) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Health> health = Ask(&*client);
  if (!health.ok()) return Fail(health.error(), common);
  const int printed =
      Print(common.json ? Json(*health) : Text(*health, WantsColour(STDOUT_FILENO)));
  if (ready && (!health->serving || !health->daemon.problem.empty())) return kNotReady;
  return health->serving ? printed : kOther;
}

}  // namespace

void AddHealthCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "health", "Check that the daemon serves, has a toolchain and can write its store");
  command->group("Daemon");
  const auto ready = std::make_shared<bool>(false);
  command->add_flag("--ready", *ready, "Exit with 1 if the daemon has a problem");
  command->footer(
      "Exit codes: 0 it serves, 1 it has a problem and --ready is given, 2 usage, 3 no daemon, 5 "
      "any other error.\n"
      "Example: cccl-cache-cli health --ready && make");
  command->callback([&common, exit_code, ready] { *exit_code = Run(common, *ready); });
}

}  // namespace cccl_cache::cli
