// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "cli/command.h"
#include "cli/explain_report.h"

namespace cccl_cache::cli {
namespace {

constexpr size_t kKeyDigits = 64;
constexpr std::string_view kWaysToAsk =
    "explain wants the key that build --json printed, or -- and the build, link or nvvm command "
    "that is asked about";

/// Empty: it is one.
std::string WrongKey(const std::string& given) {
  if (given.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return "\"" + given + "\" is no key, which is " + std::to_string(kKeyDigits) +
           " digits of 0-9 and a-f: " + std::string(kWaysToAsk);
  }
  if (given.size() == kKeyDigits) return "";
  return "\"" + given + "\" has " + std::to_string(given.size()) + " of a key's " +
         std::to_string(kKeyDigits) + " digits: give all that build --json printed";
}

int Run(const std::string& key, const CommonOptions& common) {
  if (key.empty()) {
    return FailUsage(
        std::string(kWaysToAsk) + ": cccl-cache-cli explain -- build kernel.cu --arch sm_90",
        common);
  }
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Explanation> explanation = client->ExplainKey(key);
  if (!explanation.ok()) return Fail(explanation.error(), common);
  return Report(*explanation, common);
}

}  // namespace

void AddExplainCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("explain", "Say why a build was, or would be, compiled");
  command->footer(
      "explain KEY: about a build of yours, by the key that build --json printed.\n"
      "explain -- build ..., link ... or nvvm ...: about that command, without compiling or "
      "writing "
      "anything.\n"
      "The daemon compares with the last builds of yours; it forgets them when it ends.\n"
      "Example: cccl-cache-cli explain -- build kernel.cu --arch sm_90 -I include");
  const auto key = std::make_shared<std::string>();
  command->add_option("KEY", *key, "Key of an earlier answer, 64 hexadecimal digits")
      ->check(WrongKey);
  command->callback([key, &common, exit_code] { *exit_code = Run(*key, common); });
}

}  // namespace cccl_cache::cli
