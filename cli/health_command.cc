// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/App.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/json.h"
#include "cli/command.h"

namespace cccl_cache::cli {
namespace {

// A daemon that has just started answers once it has read its toolchains, which may take longer.
constexpr std::chrono::seconds kToolchainPatience{2};

struct Health {
  bool serving = false;
  std::string socket;
  std::string version;
  cccl_cache_daemon daemon = {};
  std::optional<size_t> toolchains;  ///< none: not known
  std::string problem;               ///< why it is not ready; empty: it is
};

void CountToolchains(Client* client, Health* health) {
  const Expected<Client::Toolchains> toolchains = client->GetToolchains(0, kToolchainPatience);
  if (toolchains.ok()) health->toolchains = cccl_cache_toolchains_count(toolchains->get());
}

Expected<Health> Ask(Client* client) {
  const Expected<bool> serving = client->Health();
  if (!serving.ok()) return serving.error();
  Health health;
  // First: it waits while the daemon still looks for toolchains, which is a problem until then.
  CountToolchains(client, &health);
  const Expected<Client::Info> info = client->GetInfo();
  if (!info.ok()) return info.error();
  health.serving = *serving;
  health.socket = client->socket();
  health.daemon.struct_size = sizeof(health.daemon);
  cccl_cache_info_describe(info->get(), &health.daemon);
  health.version = View(health.daemon.version);
  health.problem = View(health.daemon.problem);
  return health;
}

std::string Status(const Health& health) { return health.serving ? "serving" : "not serving"; }

std::string Text(const Health& health, bool coloured) {
  const std::string status =
      Painted(Status(health), health.serving ? Colour::kGreen : Colour::kRed, coloured);
  std::string text =
      "cccl-cached " + health.version + " at " + health.socket + ": " + status + "\n";
  if (!health.problem.empty()) text += Painted(health.problem, Colour::kYellow, coloured) + "\n";
  return text;
}

void WriteLimits(const cccl_cache_daemon& daemon, JsonWriter* json) {
  using Field = uint64_t cccl_cache_daemon::*;
  constexpr std::pair<const char*, Field> kLimits[] = {
      {"message_bytes", &cccl_cache_daemon::message_bytes},
      {"source_bytes", &cccl_cache_daemon::source_bytes},
      {"headers", &cccl_cache_daemon::headers},
      {"build_seconds", &cccl_cache_daemon::build_seconds},
      {"worker_bytes", &cccl_cache_daemon::worker_bytes},
      {"queued", &cccl_cache_daemon::queued},
      {"queued_per_uid", &cccl_cache_daemon::queued_per_uid},
      {"calls", &cccl_cache_daemon::calls},
      {"calls_per_uid", &cccl_cache_daemon::calls_per_uid},
      {"connections", &cccl_cache_daemon::connections},
      {"connections_per_uid", &cccl_cache_daemon::connections_per_uid},
      {"bytes_in_flight", &cccl_cache_daemon::bytes_in_flight},
      {"bytes_in_flight_per_uid", &cccl_cache_daemon::bytes_in_flight_per_uid},
      {"upload_bytes", &cccl_cache_daemon::upload_bytes},
      {"upload_bytes_per_uid", &cccl_cache_daemon::upload_bytes_per_uid},
      {"failures_remembered_seconds", &cccl_cache_daemon::failures_remembered_seconds},
      {"deposit_bytes", &cccl_cache_daemon::deposit_bytes},
      {"deposit_bytes_per_uid", &cccl_cache_daemon::deposit_bytes_per_uid},
      {"leases_per_uid", &cccl_cache_daemon::leases_per_uid},
      {"lease_seconds", &cccl_cache_daemon::lease_seconds},
      {"lease_heartbeat_ms", &cccl_cache_daemon::lease_heartbeat_ms},
  };
  json->Key("limits").BeginObject();
  for (const auto& [name, limit] : kLimits) {
    json->Key(name).Integer(static_cast<int64_t>(daemon.*limit));
  }
  json->EndObject();
}

std::string Json(const Health& health) {
  JsonWriter json = BeginAnswer();
  json.Key("status").String(Status(health));
  json.Key("socket").String(health.socket);
  json.Key("version").String(health.version);
  json.Key("api_minor").Integer(health.daemon.api_minor);
  json.Key("fingerprint_layout").Integer(health.daemon.fingerprint_layout);
  json.Key("uid").Integer(health.daemon.uid);
  if (health.toolchains) json.Key("toolchains").Integer(static_cast<int64_t>(*health.toolchains));
  json.Key("problem").String(health.problem);
  WriteLimits(health.daemon, &json);
  return json.EndObject().Finish();
}

int Run(const CommonOptions& common, bool ready) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Health> health = Ask(&*client);
  if (!health.ok()) return Fail(health.error(), common);
  const int printed =
      Print(common.json ? Json(*health) : Text(*health, WantsColour(STDOUT_FILENO)));
  if (ready && (!health->serving || !health->problem.empty())) return kNotReady;
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
