// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/group.h"
#include "cli/run/advice.h"
#include "cli/run/child.h"
#include "cli/run/compare/compare.h"
#include "cli/run/daemon/own.h"
#include "cli/run/environment.h"
#include "cli/run/report.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"
#include "client/interpose/group.h"

namespace cccl_cache::cli {
namespace {

struct RunOptions {
  How how = How::kBest;
  std::optional<std::string> wait;  ///< value of --wait; none means no limit
  std::string group;                ///< value of --group; empty means none
  std::string report;               ///< "all" or "each"; empty if no report was requested
  bool compare = false;             ///< whether to run the program three times
  bool start = false;               ///< whether a daemon is started if none can be reached
};

/// Returns whether this is the name of a group of this machine, or a number.
bool IsGroup(const std::string& group) {
  return group.find_first_not_of("0123456789") == std::string::npos || GroupNamed(group);
}

/// Returns the environment variables for the options. On failure reports the error and returns the
/// exit code.
std::variant<Variables, int> VariablesOf(const RunOptions& options, const CommonOptions& common) {
  std::optional<std::chrono::milliseconds> wait;
  if (options.wait) {
    wait = ParseWait(*options.wait);
    if (!wait) return FailUsage(NoWait(*options.wait), common);
  }
  if (!IsGroup(options.group)) {
    return FailUsage("--group: this machine has no group \"" + options.group + "\"", common);
  }
  Expected<Variables> variables = RunEnvironment(options.how, wait, common.socket);
  if (!variables.ok()) return Fail(variables.error(), common);
  if (!options.group.empty()) {
    variables->emplace_back(interpose::kGroupVariable, options.group);
  }
  return *std::move(variables);
}

/// Replaces this process by the program. Returns only if the program can't be started: an exit
/// code, after a message.
int Start(const std::vector<std::string>& words, const Variables& variables) {
  Execute(words, variables);
  return CannotStart(words[0]);
}

/// If there is no daemon, says so on standard error, provided that it is a terminal. Must be called
/// only if no report was requested, because a report would say the same.
void TellIfNoDaemon(const CommonOptions& common) {
  if (isatty(STDERR_FILENO) == 0) return;
  const std::string why = WhyNoDaemon(common.socket);
  if (!why.empty()) PrintNotice("not cached: " + why);
}

/// Runs the program, and then prints a report on its compiles, if it was started. Returns its
/// status as from waitpid().
int RunAndReport(const CommonOptions& common, const RunOptions& options, Variables variables,
                 RunReport report) {
  variables.emplace_back(interpose::ProcessCounts::kVariable, report.directory());
  const HeldSignals signals;
  const ChildEnd end =
      RunAsChild(signals, [&common, &variables] { return Start(common.program, variables); });
  if (!end.started && !common.json) return end.status;  // the message about that is enough
  const bool each = options.report == "each";
  const Advisor advisor = AdvisorFor(common.socket);
  const std::string text = common.json ? report.Json(each, advisor)
                                       : report.Text(each, advisor, WantsColour(STDERR_FILENO));
  // The report goes to standard error, because standard output belongs to the program.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  return end.status;
}

int RunComparison(const CommonOptions& common, const RunOptions& options) {
  if (!options.report.empty() || options.start || !common.socket.empty()) {
    return FailUsage("run: --compare has a report and a daemon of its own", common);
  }
  if (IsUnderRun()) {
    return FailUsage(
        "run: --compare does not work where LD_AUDIT or LD_PRELOAD already name the cache's "
        "libraries",
        common);
  }
  return Compare(common, [&common, &options](const std::string& socket) {
    CommonOptions own = common;
    own.socket = socket;
    return VariablesOf(options, own);
  });
}

int Run(const CommonOptions& common, const RunOptions& options) {
  if (common.program.empty()) return FailUsage("run: name the program to run", common);
  if (!options.report.empty() && options.report != "all" && options.report != "each") {
    return FailUsage("run: --report is --report or --report=each", common);
  }
  if (options.compare) return RunComparison(common, options);
  auto set = VariablesOf(options, common);
  if (const int* failed = std::get_if<int>(&set)) return *failed;
  Variables& variables = std::get<Variables>(set);
  // Inside another `run`, that one has asked.
  const bool told = (options.start || !variables.empty()) &&
                    StartOwnDaemon(common.socket, common.program[0], options.start);
  if (options.report.empty() && !common.json) {
    if (!variables.empty() && !told) TellIfNoDaemon(common);
    return Start(common.program, variables);
  }
  Expected<RunReport> report = RunReport::Make();
  if (!report.ok()) {
    Complain("there is no report: " + report.error().message, Role::kWarning);
    return Start(common.program, variables);
  }
  // EndAs() may end this process by a signal, so the report's files must be removed before.
  // RunAndReport() removes them.
  const int status = RunAndReport(common, options, std::move(variables), *std::move(report));
  return EndAs(status);
}

int PrintEnvironment(const CommonOptions& common, const RunOptions& options) {
  const auto set = VariablesOf(options, common);
  if (const int* failed = std::get_if<int>(&set)) return *failed;
  std::string text;
  JsonWriter json = BeginAnswer();
  json.Key("variables").BeginObject();
  for (const auto& [name, value] : std::get<Variables>(set)) {
    text += "export " + name + "=" + ShellQuoted(value) + "\n";
    json.Key(name).String(value);
  }
  return Print(common.json ? json.EndObject().EndObject().Finish() : text);
}

void AddRunOptions(CLI::App* command, RunOptions* options) {
  AcceptOnly(command->add_option_function<std::string>(
                 "--how",
                 [options](const std::string& given) {
                   options->how = given == "audit" ? How::kAudit : How::kPreload;
                 },
                 "audit: LD_AUDIT, the default where nothing else uses it; preload: LD_PRELOAD"),
             {"audit", "preload"});
  command
      ->add_option(
          "--wait", options->wait,
          "Wait at most this long for each compile (50ms, 2s, 1m; an hour at most), then compile "
          "in the program; the daemon finishes the compile for the next run. 0: use only hits")
      ->type_name("DURATION");
  command
      ->add_option("--group", options->group,
                   "Share what nvcc, ptxas and tileiras made with the members of this Unix group "
                   "(default: $CCCL_CACHE_GROUP; without a group, results stay private)")
      ->type_name("GROUP");
}

}  // namespace

void AddRunCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "run",
      "Run an unchanged program so that its calls of NVRTC, nvJitLink and libNVVM, and its nvcc, "
      "ptxas and tileiras, go to the daemon");
  command->group("Programs");
  const auto options = std::make_shared<RunOptions>();
  AddWhenParsed(command, common, [command, options] {
    command
        ->add_flag("--report{all}", options->report,
                   "Print at the program's end how many compiles were hits; --report=each: also a "
                   "line for each process")
        ->type_name("each");
    command->add_flag(
        "--start", options->start,
        "If no daemon can be reached, start one of your own, which ends after an hour "
        "without use");
    command->add_flag(
        "--compare", options->compare,
        "Run the program without the cache, then twice with a new one, and print what "
        "each took; the program's output goes to standard error");
    AddRunOptions(command, options.get());
    // Exists only for --help: main() has already moved the program's words to common.program.
    command->add_option_function<std::vector<std::string>>(
        "PROGRAM", [](const std::vector<std::string>&) {},
        "The program and its arguments, after --");
  });
  command->footer(
      "Exit codes: The program's (a signal that ends it ends `run` too), or 127 if it is not "
      "found, 126 if it can't be started for another reason, or 5 if the loader can't be given the "
      "cache's libraries.\n"
      "Example: cccl-cache-cli run --report -- python train.py");
  command->callback([&common, exit_code, options] { *exit_code = Run(common, *options); });
}

void AddEnvCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand(
      "env", "Print the variables that `run` sets, as lines for a shell or a job script");
  command->group("Programs");
  command->footer("Example: eval \"$(cccl-cache-cli env)\"");
  const auto options = std::make_shared<RunOptions>();
  AddWhenParsed(command, common, [command, options] { AddRunOptions(command, options.get()); });
  command->callback(
      [&common, exit_code, options] { *exit_code = PrintEnvironment(common, *options); });
}

}  // namespace cccl_cache::cli
