// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The commands `evict` and `verify`, with which administrators maintain the daemon's store.
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/daemon_answers.h"
#include "cli/terminal/command.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

std::string Entries(uint64_t count) { return Many(count, "entry", "entries"); }

std::string EvictedText(const Upkeep& done) {
  return "evicted " + Entries(done.entries) + ", " + Bytes(done.bytes);
}

std::string VerifiedText(const Upkeep& done) {
  std::string text = "verified " + Entries(done.entries) + ", " + Bytes(done.bytes) + ": ";
  if (done.broken + done.unreadable == 0) return text + "all sound\n";
  text += Count(done.broken) + " broken, dropped";
  if (done.unreadable > 0) {
    text += "; " + Count(done.unreadable) +
            " could not be read and are kept: the daemon's log and the disk's say more";
  }
  return text + "\n";
}

std::string VerifyingText(const Upkeep& so_far) {
  return "verifying: " + Count(so_far.entries) + " of " +
         Entries(std::max(so_far.entries, so_far.all_entries)) + ", " +
         Use(so_far.bytes, std::max(so_far.bytes, so_far.all_bytes)) + ", " + Count(so_far.broken) +
         " broken";
}

/// Begins the object that --json prints. The caller must end it.
JsonWriter BeginJson(const Upkeep& done) {
  JsonWriter json = BeginAnswer();
  json.Fields("entries", done.entries, "bytes", done.bytes);
  return json;
}

struct EvictOptions {
  std::vector<std::string> keys;
  std::string older_than;
  std::string toolchain;
  bool all = false;
  bool yes = false;
};

/// Returns an error message if the options are not exactly one valid filter. Returns "" if they
/// are.
std::string Misuse(const EvictOptions& options) {
  const int filters = (options.keys.empty() ? 0 : 1) + (options.older_than.empty() ? 0 : 1) +
                      (options.toolchain.empty() ? 0 : 1) + (options.all ? 1 : 0);
  if (filters == 0) return "evict wants keys, --older-than, --toolchain or --all";
  if (filters > 1) return "evict takes keys, --older-than, --toolchain or --all, one of them";
  for (const std::string& key : options.keys) {
    if (std::string wrong = WrongKey(key); !wrong.empty()) return wrong;
  }
  if (!options.toolchain.empty() && !WrongKey(options.toolchain).empty()) {
    return "\"" + options.toolchain +
           "\" is no toolchain's id, nor its first 8 or more digits: see toolchains";
  }
  if (options.all && !options.yes && (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)) {
    return "--all evicts everything of all users: add --yes";
  }
  return "";
}

bool Confirmed() {
  const std::string question = "Evict all entries and deposits of all users? [y/N] ";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, question.data(), question.size());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int RunEvict(const EvictOptions& options, const CommonOptions& common) {
  if (std::string misuse = Misuse(options); !misuse.empty()) return FailUsage(misuse, common);
  std::vector<std::string> filter;
  for (const std::string& key : options.keys) filter.push_back("keys=" + key);
  if (!options.toolchain.empty()) filter.push_back("toolchain=" + options.toolchain);
  if (options.all) filter.emplace_back("all=true");
  if (!options.older_than.empty()) {
    const auto age = ParseDuration(options.older_than);
    if (!age) {
      return FailUsage("--older-than: \"" + options.older_than + "\" is no age: 30m, 12h, 30d",
                       common);
    }
    filter.push_back("unused_s=" + std::to_string(age->count()));
  }
  if (options.all && !options.yes && !Confirmed()) {
    return FailUsage("nothing was evicted", common);
  }
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Upkeep> evicted = [&] {
    ProgressLine line;
    return AskUpkeep(*client, "evict", filter,
                     [&line](const Upkeep& so_far) { line.Show(EvictedText(so_far)); });
  }();
  if (!evicted.ok()) return Fail(evicted.error(), common);
  if (!options.keys.empty() && evicted->entries == 0) {
    return Fail(Error{CCCL_CACHE_INVALID_REQUEST,
                      "no entry has " +
                          std::string(options.keys.size() == 1 ? "this key" : "any of these keys")},
                common);
  }
  return Print(common.json ? BeginJson(*evicted).EndObject().Finish()
                           : EvictedText(*evicted) + "\n");
}

int RunVerify(const CommonOptions& common) {
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Upkeep> verified = [&] {
    ProgressLine line;
    return AskUpkeep(*client, "verify", {},
                     [&line](const Upkeep& so_far) { line.Show(VerifyingText(so_far)); });
  }();
  if (!verified.ok()) return Fail(verified.error(), common);
  JsonWriter json = BeginJson(*verified);
  json.Fields("broken", verified->broken, "unreadable", verified->unreadable);
  const int printed = Print(common.json ? json.EndObject().Finish() : VerifiedText(*verified));
  return verified->broken + verified->unreadable > 0 ? kCheckFailed : printed;
}

}  // namespace

void AddEvictCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("evict", "Evict entries of all users, as administrator");
  command->group("Entries");
  command->footer(
      "Evicted builds are compiled again when they are asked for. --older-than and --all evict "
      "deposits as well.\n"
      "Example: sudo cccl-cache-cli evict --older-than 30d");
  const auto options = std::make_shared<EvictOptions>();
  command->add_option("KEY", options->keys,
                      "Key as build --json and explain tell it, or its first 8 or more digits");
  command
      ->add_option("--older-than", options->older_than,
                   "Entries that were not used for longer than this: 30m, 12h, 30d")
      ->type_name("AGE");
  command
      ->add_option(
          "--toolchain", options->toolchain,
          "Entries that users received from this toolchain: its id as toolchains tells it, "
          "or the first 8 or more digits")
      ->type_name("ID");
  command->add_flag("--all", options->all, "Everything, deposits included");
  command->add_flag("--yes", options->yes, "Do not ask whether --all is meant");
  command->callback([options, &common, exit_code] { *exit_code = RunEvict(*options, common); });
}

void AddVerifyCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "verify", "Have the daemon read its whole disk and drop broken entries, as administrator");
  command->group("Entries");
  command->footer(
      "Exit codes: 0 all is sound, 1 broken or unreadable entries were found, 2 usage, 3 no "
      "daemon, "
      "4 refused, 5 any other error.\n"
      "Example: sudo cccl-cache-cli verify");
  command->callback([&common, exit_code] { *exit_code = RunVerify(common); });
}

}  // namespace cccl_cache::cli
