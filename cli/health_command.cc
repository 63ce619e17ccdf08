// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/json_writer.h"

namespace cccl_cache::cli {
namespace {

int Run(const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<bool> serving = client->Health();
  if (!serving.ok()) return Fail(serving.error(), common);
  const Expected<Client::Info> info = client->GetInfo();
  if (!info.ok()) return Fail(info.error(), common);
  cccl_cache_daemon daemon = {};
  daemon.struct_size = sizeof(daemon);
  cccl_cache_info_describe(info->get(), &daemon);
  const std::string status = *serving ? "serving" : "not serving";
  const std::string socket(client->socket());
  const std::string version(View(daemon.version));
  std::string text = "cccl-cached " + version + " at " + socket + ": " + status + "\n";
  if (common.json) {
    JsonWriter json;
    json.BeginObject();
    json.Key("status").String(status);
    json.Key("socket").String(socket);
    json.Key("version").String(version);
    json.Key("api_minor").Integer(daemon.api_minor);
    json.Key("fingerprint_layout").Integer(daemon.fingerprint_layout);
    json.Key("uid").Integer(daemon.uid);
    text = json.EndObject().Finish();
  }
  const int printed = Print(text);
  return *serving ? printed : kOther;
}

}  // namespace

void AddHealthCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("health", "Ask whether the daemon serves");
  command->footer("Example: cccl-cache-cli health && make");
  command->callback([&common, exit_code] { *exit_code = Run(common); });
}

}  // namespace cccl_cache::cli
