// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/compare/compare.h"

#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "cli/run/advice.h"
#include "cli/run/child.h"
#include "cli/run/compare/framework_caches.h"
#include "cli/run/daemon/own.h"
#include "cli/run/daemon/process.h"
#include "cli/run/report.h"
#include "cli/run/temporary_directory.h"
#include "client/interpose/report.h"

namespace cccl_cache::cli {
namespace {

constexpr std::chrono::seconds kStartPatience{60};

/// One of the three runs.
struct Round {
  const char* name;
  ChildEnd end;
  std::chrono::microseconds processor_time{0};  ///< with that of the daemon
  std::optional<RunCounts> counts = {};         ///< none without the cache
  std::string misses = {};                      ///< lines from DescribeMisses()
};

struct Comparison {
  std::vector<Round> rounds;
  std::vector<std::string> notes;  ///< about caches of frameworks
};

/// Removes the variables of the cache and of its plug-ins from the environment.
void RemoveOurVariables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name == "CCCL_CACHE" || name.starts_with("CCCL_CACHE_")) names.emplace_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

/// Replaces this process by the program. Returns an exit code if that fails.
int StartWithout(const std::vector<std::string>& words) {
  RemoveOurVariables();
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return CannotStart(words[0]);
}

/// Lets the program's output go to standard error, because standard output has the comparison.
void RedirectOutput() { dup2(STDERR_FILENO, STDOUT_FILENO); }

/// Tells a person at a terminal which run begins.
void Announce(const char* name) {
  if (isatty(STDERR_FILENO) != 0) PrintNotice("the run \"" + std::string(name) + "\" begins");
}

/// Runs the program three times.
class Comparing {
 public:
  Comparing(const CommonOptions& common, const VariablesFor& variables, std::string directory)
      : common_(common), variables_(variables), directory_(std::move(directory)) {}

  /// Returns false if the comparison has ended early. EndAsProgram() is to be called in any case.
  bool Run() {
    // The run without the cache may take hours.
    if (!daemon_.ok()) return Fails(daemon_.error());
    const auto before = FrameworkCaches();
    if (!RunWithout()) return false;
    const auto after = FrameworkCaches();
    NoteCaches(before, after);
    return RunWith("first") && RunWith("second");
  }
  /// Ends this process by a signal if one has ended the program.
  [[nodiscard]] int EndAsProgram() const { return exit_code_ ? *exit_code_ : EndAs(end_status_); }
  [[nodiscard]] const Comparison& comparison() const { return comparison_; }

 private:
  bool RunWithout() {
    Announce("without");
    const ChildEnd end = RunAsChild(signals_, [this] {
      RedirectOutput();
      return StartWithout(common_.program);
    });
    comparison_.rounds.push_back({"without", end, end.processor_time});
    return GoesOn();
  }

  bool RunWith(const char* name) {
    Announce(name);
    Expected<DaemonProcess> daemon = StartDaemon();
    if (!MayGoOn()) return false;
    if (!daemon.ok()) return Fails(daemon.error());
    auto set = variables_(socket());
    if (const int* failed = std::get_if<int>(&set)) return EndsWith(*failed);
    Expected<RunReport> report = RunReport::Make();
    if (!report.ok()) return Fails(report.error());
    Variables& variables = std::get<Variables>(set);
    variables.emplace_back(interpose::ProcessCounts::kVariable, report->directory());
    Round round{name, RunAsChild(signals_, [&] {
                  RedirectOutput();
                  Execute(common_.program, variables);
                  return CannotStart(common_.program[0]);
                })};
    Advisor advisor = AdvisorFor(socket());
    // `toolchains add` would give the library to another daemon.
    advisor.unknown_library = [](const std::string& library) {
      return "name the directory of " + library + " in CCCL_CACHED_TOOLCHAIN_ROOT";
    };
    round.counts = report->Total(advisor);
    round.misses = DescribeMisses(*round.counts, advisor);
    round.processor_time = round.end.processor_time + daemon->Stop();
    comparison_.rounds.push_back(std::move(round));
    return GoesOn();
  }

  /// Starts a daemon whose cache has only the results of the earlier runs.
  Expected<DaemonProcess> StartDaemon() {
    const std::string empty = directory_ + "/config.toml";
    std::ofstream(empty).close();
    // Results of other nodes or shelves would be hits in the first run.
    for (const char* name : {"CCCL_CACHED_REMOTE_URL", "CCCL_CACHED_SHELF_PATH",
                             "CCCL_CACHED_CONTAINER_SOCKET", "CCCL_CACHED_IDLE_TIMEOUT"}) {
      unsetenv(name);
    }
    Expected<DaemonProcess> daemon = DaemonProcess::Start(
        {.program = *daemon_,
         .socket = socket(),
         .log = directory_ + "/log",
         .flags = {"--state-dir", directory_ + "/state", "--config", empty},
         .defaults = {{"CCCL_CACHED_TOOLCHAIN_ROOT", PythonEnvironmentOf(common_.program[0])}},
         .bound = true});
    if (!daemon.ok()) return daemon;
    const Expected<Done> ready =
        daemon->AwaitReady(kStartPatience, [this] { return signals_.EndRequest() != 0; });
    if (!ready.ok()) return ready.error();
    return daemon;
  }

  /// Returns whether the next run may begin: the program was started, nothing asks this process to
  /// end, and the program ended as in the run before.
  bool GoesOn() {
    const std::vector<Round>& rounds = comparison_.rounds;
    const ChildEnd& last = rounds.back().end;
    const bool killed = WIFSIGNALED(last.status) && AsksToEnd(WTERMSIG(last.status));
    if (!last.started || last.end_requested || killed) {
      end_status_ = last.status;
      return false;
    }
    if (!MayGoOn()) return false;
    end_status_ = last.status;
    if (rounds.front().end.status == last.status) return true;
    return Fails(
        Error{CCCL_CACHE_UNAVAILABLE,
              "the program ended differently: " + DescribeWaitStatus(rounds.front().end.status) +
                  " without, " + DescribeWaitStatus(last.status) + " in the " + rounds.back().name +
                  " run with the cache, so there is nothing to compare"});
  }

  /// Returns false if a signal came between two runs.
  bool MayGoOn() {
    const int signal = signals_.EndRequest();
    if (signal != 0) end_status_ = W_EXITCODE(0, signal);
    return signal == 0;
  }

  bool Fails(const Error& error) { return EndsWith(Fail(error, common_)); }
  bool EndsWith(int exit_code) {
    exit_code_ = exit_code;
    return false;
  }

  void NoteCaches(const std::vector<FrameworkCache>& before,
                  const std::vector<FrameworkCache>& after) {
    for (size_t i = 0; i < before.size(); ++i) {
      const std::string name = "the cache of " + before[i].framework + ", " + before[i].directory;
      const std::string way_out = " (another one: " + before[i].variable + ")";
      if (before[i].entries > 0) {
        comparison_.notes.push_back(name + ", had results before: no run compiled these" + way_out);
      }
      if (after[i].entries > before[i].entries) {
        comparison_.notes.push_back(
            name + ", was filled by the run without: the others found that" + way_out);
      }
    }
  }

  [[nodiscard]] std::string socket() const { return directory_ + "/socket"; }

  const CommonOptions& common_;
  const VariablesFor& variables_;
  const std::string directory_;
  const Expected<std::string> daemon_ = FindDaemon();
  const HeldSignals signals_;
  Comparison comparison_;
  std::optional<int> exit_code_;
  int end_status_ = 0;  ///< as from waitpid(), for the end of this process if there is no exit code
};

std::string TableRow(const std::string& name, const std::array<std::string, 6>& cells) {
  char line[160];
  std::snprintf(line, sizeof(line), "%-8s %10s %15s %10s %6s %6s %11s\n", name.c_str(),
                cells[0].c_str(), cells[1].c_str(), cells[2].c_str(), cells[3].c_str(),
                cells[4].c_str(), cells[5].c_str());
  return line;
}

std::string SecondsOf(std::chrono::microseconds time) {
  return SecondsText(static_cast<uint64_t>(time.count()));
}

std::string TableRow(const Round& round) {
  const std::string wall = SecondsOf(round.end.wall_time);
  const std::string processor = SecondsOf(round.processor_time);
  if (!round.counts) return TableRow(round.name, {wall, processor, "-", "-", "-", "-"});
  const RunCounts& counts = *round.counts;
  return TableRow(round.name, {wall, processor, std::to_string(counts.calls),
                               std::to_string(counts.hits + counts.joined),
                               std::to_string(counts.compiled), std::to_string(Forwarded(counts))});
}

std::string Verdict(const Comparison& comparison) {
  const auto without = comparison.rounds.front().end.wall_time;
  const auto second = comparison.rounds.back().end.wall_time;
  const std::string times = SecondsOf(second) + " in place of " + SecondsOf(without);
  const double factor = static_cast<double>(without.count()) /
                        static_cast<double>(std::max<int64_t>(1, second.count()));
  constexpr double kNoise = 1.05;
  if (factor < 1 / kNoise) return "The second run took longer than without: " + times + ".\n";
  if (factor < kNoise) return "The second run took as long as without: " + times + ".\n";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", factor);
  return "The second run was " + std::string(text) + " times as fast as without: " + times + ".\n";
}

std::string Text(const Comparison& comparison) {
  std::string text =
      TableRow("", {"wall", "processor time", "compiles", "hits", "made", "not served"});
  for (const Round& round : comparison.rounds) text += TableRow(round);
  text += Verdict(comparison);
  const std::string& misses = comparison.rounds.back().misses;
  if (!misses.empty()) text += "In the second run, " + misses;
  for (const std::string& note : comparison.notes) text += "Note: " + note + ".\n";
  return text;
}

std::string Json(const Comparison& comparison, const std::vector<std::string>& words) {
  JsonWriter json = BeginAnswer();
  json.Key("program").BeginArray();
  for (const std::string& word : words) json.String(word);
  json.EndArray().Key("runs").BeginArray();
  for (const Round& round : comparison.rounds) {
    json.BeginObject().Fields("name", round.name, "wall_us", round.end.wall_time.count(),
                              "processor_us", round.processor_time.count());
    if (round.counts) {
      json.Key("compiles").BeginObject();
      WriteCounts(*round.counts, &json);
      json.EndObject();
    }
    json.Fields("misses", round.misses).EndObject();
  }
  json.EndArray().Fields("end", DescribeWaitStatus(comparison.rounds.back().end.status));
  json.Key("notes").BeginArray();
  for (const std::string& note : comparison.notes) json.String(note);
  return json.EndArray().EndObject().Finish();
}

}  // namespace

int Compare(const CommonOptions& common, const VariablesFor& variables) {
  // The daemon binds a temporary name first, which is longer than that of its socket.
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - sizeof("/socket.4194304");
  std::optional<Comparing> comparing;
  {
    const Expected<TemporaryDirectory> directory = TemporaryDirectory::Make(kLongest);
    if (!directory.ok()) return Fail(directory.error(), common);
    comparing.emplace(common, variables, directory->path());
    if (comparing->Run()) {
      const Comparison& done = comparing->comparison();
      const int printed = Print(common.json ? Json(done, common.program) : Text(done));
      if (printed != kDone) return printed;
    }
  }
  return comparing->EndAsProgram();
}

}  // namespace cccl_cache::cli
