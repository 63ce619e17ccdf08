// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/command.h"

#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/doctor/check.h"
#include "cli/driver.h"

namespace cccl_cache::cli {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kNameColumns = 12;
constexpr size_t kVerdictColumns = 9;
constexpr size_t kIndent = kNameColumns + kVerdictColumns;

/// The appearance of a verdict: the word, which is also used in JSON, and the colour in a terminal.
struct VerdictLook {
  const char* word;
  Role role;
};

VerdictLook LookOf(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPass:
      return {"pass", Role::kGood};
    case CheckVerdict::kWarning:
      return {"warning", Role::kWarning};
    case CheckVerdict::kFailure:
      return {"failure", Role::kBad};
    case CheckVerdict::kSkipped:
      break;
  }
  return {"skipped", Role::kFaint};
}

std::string Padded(std::string text, size_t columns) {
  text.resize(std::max(text.size() + 1, columns), ' ');
  return text;
}

/// Wraps a text at kColumns. All lines but the first are indented to the column of the text.
std::string Wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string wrapped;
  size_t column = kIndent;
  for (std::string word; words >> word;) {
    word = Printable(word);
    if (column > kIndent && column + 1 + word.size() > kColumns) {
      wrapped += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (column > kIndent) {
      wrapped += " ";
      ++column;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped + "\n";
}

size_t CountOf(const std::vector<Check>& checks, CheckVerdict verdict) {
  return static_cast<size_t>(std::ranges::count(checks, verdict, &Check::verdict));
}

int Examine(const CommonOptions& common) {
  constexpr std::chrono::seconds kPythonPatience{10};
  Patient patient{.given_socket = common.socket, .driver_version = DriverVersion()};
  std::vector<Check> checks;
  checks.push_back(CheckSocket(&patient));
  checks.push_back(CheckDaemon(&patient, checks.back().verdict == CheckVerdict::kPass));
  checks.push_back(CheckToolchains(patient));
  checks.push_back(CheckBuild(&patient));
  checks.push_back(CheckStore(&patient));
  for (Check& check : RemoteChecks(patient)) checks.push_back(std::move(check));
  checks.push_back(CheckClock(patient, std::time(nullptr)));
  checks.push_back(CheckLimits(patient, OpenFileLimit()));
  checks.push_back(CheckKernel(KernelFeatures::OfThisProcess()));
  checks.push_back(CheckDriver(patient));
  checks.push_back(CheckRun());
  const char* path = std::getenv("PATH");
  std::error_code error;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", error).string();
  checks.push_back(CheckPython(own, path == nullptr ? "" : path, kPythonPatience));
  const int printed =
      Print(common.json ? ChecksJson(checks) : ChecksText(checks, WantsColour(STDOUT_FILENO)));
  return CountOf(checks, CheckVerdict::kFailure) > 0 ? kCheckFailed : printed;
}

}  // namespace

std::string ChecksText(const std::vector<Check>& checks, bool coloured) {
  std::string text;
  for (const Check& check : checks) {
    const VerdictLook look = LookOf(check.verdict);
    text += Padded(check.name, kNameColumns);
    text += Painted(Padded(look.word, kVerdictColumns), look.role, coloured);
    text += Wrapped(check.seen);
    if (!check.way_out.empty()) {
      text += std::string(kIndent, ' ') + Wrapped("-> " + check.way_out);
    }
  }
  const size_t failed = CountOf(checks, CheckVerdict::kFailure);
  const size_t warnings = CountOf(checks, CheckVerdict::kWarning);
  return text + std::to_string(checks.size()) + " checks: " + std::to_string(failed) + " failed, " +
         std::to_string(warnings) + (warnings == 1 ? " warning" : " warnings") + "\n";
}

std::string ChecksJson(const std::vector<Check>& checks) {
  JsonWriter json = BeginAnswer();
  json.Fields("version", cccl_cache_version()).Key("checks").BeginArray();
  for (const auto& [name, verdict, seen, way_out] : checks) {
    json.BeginObject().Fields("name", name, "verdict", LookOf(verdict).word, "seen", seen);
    json.Fields("way_out", way_out).EndObject();
  }
  json.EndArray().Fields("failed", CountOf(checks, CheckVerdict::kFailure));
  return json.EndObject().Finish();
}

void AddDoctorCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "doctor", "Find out why nothing is cached: check the daemon, this machine and its Python");
  command->group("Daemon");
  command->footer(
      "Compiles a tiny program through the daemon, twice, which stats counts. Where nodes share "
      "results, also checks the connection to Redis, its clock and the keys.\n"
      "Exit codes: 0 no check failed, 1 a check failed, 2 usage, 5 any other error.\n"
      "Example: cccl-cache-cli doctor --json > for-support.json");
  command->callback([&common, exit_code] { *exit_code = Examine(common); });
}

}  // namespace cccl_cache::cli
