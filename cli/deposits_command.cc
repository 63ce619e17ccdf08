// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

std::string Json(const DepositList& deposits) {
  JsonWriter json = BeginAnswer();
  json.Key("deposits").BeginArray();
  for (size_t i = 0; i < deposits.size(); ++i) {
    const cccl_cache_deposit_info deposit = deposits[i];
    json.BeginObject().Fields("key", View(deposit.key), "namespace", View(deposit.name_space));
    if (deposit.is_group != 0) json.Fields("gid", deposit.gid);
    json.Fields("size", deposit.size, "made_at", deposit.made_at, "used_at", deposit.used_at);
    json.EndObject();
  }
  json.EndArray();
  return json.EndObject().Finish();
}

std::string Text(const DepositList& deposits) {
  std::string text;
  for (size_t i = 0; i < deposits.size(); ++i) {
    const cccl_cache_deposit_info deposit = deposits[i];
    text.append(View(deposit.key)).append("  ").append(LocalTime(deposit.made_at, "%F %T"));
    text.append("  ").append(std::to_string(deposit.size)).append("  ");
    text.append(Printable(View(deposit.name_space)));
    if (deposit.is_group != 0) text.append("  group ").append(std::to_string(deposit.gid));
    text.append("\n");
  }
  return text.empty() ? "no deposits\n" : text;
}

int List(const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<DepositList> deposits = client->ListDeposits();
  if (!deposits.ok()) return Fail(deposits.error(), common);
  return Print(common.json ? Json(*deposits) : Text(*deposits));
}

std::vector<std::string> KeysThatBegin(const std::string& with, const DepositList& deposits) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < deposits.size(); ++i) {
    if (View(deposits[i].key).starts_with(with)) keys.emplace_back(View(deposits[i].key));
  }
  return keys;
}

/// Returns the message that explains why no deposit is removed for the argument `given`. `deposits`
/// is the number of deposits whose keys begin with it.
std::string WhyNot(const std::string& given, size_t deposits) {
  if (std::string wrong = WrongKey(given); !wrong.empty()) return wrong;
  if (deposits == 0) return "you have no deposit " + given;
  return std::to_string(deposits) + " deposits of yours begin with " + given;
}

int Remove(const std::vector<std::string>& given, const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<DepositList> deposits = client->ListDeposits();
  if (!deposits.ok()) return Fail(deposits.error(), common);
  JsonWriter json = BeginAnswer();
  json.Key("removed").BeginArray();
  size_t gone = 0;
  std::string wrong;
  for (const std::string& each : given) {
    const std::vector<std::string> keys = KeysThatBegin(each, *deposits);
    if (keys.size() != 1 || !WrongKey(each).empty()) {
      wrong += (wrong.empty() ? "" : ", ") + WhyNot(each, keys.size());
      continue;
    }
    const Expected<bool> removed = client->RemoveDeposit(keys.front());
    if (!removed.ok()) return Fail(removed.error(), common);
    json.String(keys.front());
    ++gone;
  }
  json.EndArray();
  const Error none = {CCCL_CACHE_INVALID_REQUEST, wrong + ": see deposits list"};
  if (!wrong.empty()) {
    Complain(none.message);
    WriteError(none, &json);
  }
  const std::string text =
      "removed " + std::to_string(gone) + (gone == 1 ? " deposit\n" : " deposits\n");
  const int printed = Print(common.json ? json.EndObject().Finish() : text);
  return wrong.empty() ? printed : kRefused;
}

}  // namespace

void AddDepositsCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "deposits", "List or remove your deposits: artifacts that your programs made themselves");
  command->group("Entries");
  command->require_subcommand(1);
  command->footer("Example: cccl-cache-cli deposits list --json");
  command->fallthrough();

  CLI::App* list = command->add_subcommand(
      "list", "List your deposits: key, time, bytes, namespace, and the group that shares it");
  list->footer("Example: cccl-cache-cli deposits list");
  list->callback([&common, exit_code] { *exit_code = List(common); });

  CLI::App* remove = command->add_subcommand("remove", "Remove deposits of yours");
  remove->footer(
      "Example: cccl-cache-cli deposits list --json | jq -r '.deposits[].key' | xargs "
      "cccl-cache-cli deposits remove");
  const auto keys = std::make_shared<std::vector<std::string>>();
  remove->add_option("KEY", *keys, "Key from deposits list, or its first 8 or more digits")
      ->required();
  remove->callback([keys, &common, exit_code] { *exit_code = Remove(*keys, common); });
}

}  // namespace cccl_cache::cli
