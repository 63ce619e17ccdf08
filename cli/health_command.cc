// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/App.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/daemon_answers.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"

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
      Painted(Status(health), health.serving ? Role::kGood : Role::kBad, coloured);
  const std::string text = "cccl-cached " + Printable(health.daemon.version) + " at " +
                           health.socket + ": " + status + "\n";
  const std::string problem = Printable(health.daemon.problem);
  return problem.empty() ? text : text + Painted(problem, Role::kWarning, coloured) + "\n";
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

struct HealthOptions {
  bool ready = false;
  std::string wait = "0";
};

bool IsReady(const Health& health) { return health.serving && health.daemon.problem.empty(); }

/// Asks until the daemon is as it is waited for, or the time is over. Returns the last answer.
Expected<Health> AskFor(std::chrono::milliseconds wait, bool ready, const CommonOptions& common) {
  constexpr std::chrono::milliseconds kBetween{50};
  const auto end = std::chrono::steady_clock::now() + wait;
  for (;;) {
    Expected<Client> client = Client::Open(common.socket);
    if (!client.ok()) return client.error();
    Expected<Health> health = Ask(&*client);
    const bool reached = health.ok() && (ready ? IsReady(*health) : health->serving);
    if (reached || std::chrono::steady_clock::now() >= end) return health;
    std::this_thread::sleep_for(kBetween);
  }
}

int Run(const CommonOptions& common, const HealthOptions& options) {
  const auto wait = ParseWait(options.wait);
  if (!wait) return FailUsage(NoWait(options.wait), common);
  const Expected<Health> health = AskFor(*wait, options.ready, common);
  if (!health.ok()) return Fail(health.error(), common);
  const int printed =
      Print(common.json ? Json(*health) : Text(*health, WantsColour(STDOUT_FILENO)));
  if (options.ready && !IsReady(*health)) return kNotReady;
  return health->serving ? printed : kOther;
}

}  // namespace

void AddHealthCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "health", "Check that the daemon serves, has a toolchain and can write its store");
  command->group("Daemon");
  const auto options = std::make_shared<HealthOptions>();
  command->add_flag("--ready", options->ready, "Exit with 1 if the daemon has a problem");
  command
      ->add_option("--wait", options->wait,
                   "Wait at most this long (50ms, 2s, 1m) for a daemon that serves, and with "
                   "--ready for one without a problem")
      ->type_name("DURATION");
  command->footer(
      "Exit codes: 0 it serves, 1 it has a problem and --ready is given, 2 usage, 3 no daemon, 5 "
      "any other error.\n"
      "Example: cccl-cache-cli health --ready --wait 10s && make");
  command->callback([&common, exit_code, options] { *exit_code = Run(common, *options); });
}

}  // namespace cccl_cache::cli
