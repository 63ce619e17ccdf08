// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/end_with_parent.h"
#include "base/files/file_descriptor.h"
#include "base/group.h"
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
};

// Exit codes with the same meanings as those of shells.
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr int kSignalled = 128;

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
  const int error = errno;
  Complain("can't run " + words[0] + ": " + std::strerror(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

/// Returns the signals that are forwarded to the program. The stop signals of job control are left
/// out, because they stop both processes anyway.
sigset_t PassedOn() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int each : {SIGTSTP, SIGTTIN, SIGTTOU}) sigdelset(&signals, each);
  return signals;
}

/// Returns whether the program has received the signal as well, so that it must not be forwarded. A
/// terminal sends its signals to both processes, except SIGHUP, which goes only to the leader of
/// the session.
bool CameToBoth(const siginfo_t& came) {
  return came.si_code == SI_KERNEL && (came.si_signo != SIGHUP || getsid(0) != getpid());
}

/// Runs the program in a child process and forwards signals to it. Returns its status as from
/// waitpid(). Sets `*started` to whether the program has begun.
int RunAsChild(const std::vector<std::string>& words, const Variables& variables, bool* started) {
  const sigset_t signals = PassedOn();
  sigset_t before;
  // If SIGCHLD were ignored, waitpid() would return no status.
  const auto of_children = signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &signals, &before);
  // Closed by the start of the program.
  int ends[2] = {-1, -1};
  const bool piped = pipe2(ends, O_CLOEXEC) == 0;
  const FileDescriptor told(ends[0]);
  FileDescriptor tell(ends[1]);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    // SIGKILL can't be caught and forwarded. So the kernel kills the child when the parent ends.
    if (!EndWithParent(self)) _exit(kSignalled + SIGKILL);
    signal(SIGCHLD, of_children);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    const int code = Start(words, variables);
    [[maybe_unused]] const ssize_t written = write(tell.get(), "", 1);
    _exit(code);
  }
  tell.Close();
  if (child < 0) {
    Complain(std::string("can't start a process: ") + std::strerror(errno));
    return W_EXITCODE(kOther, 0);
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    siginfo_t came;
    if (sigwaitinfo(&signals, &came) < 0 || came.si_signo == SIGCHLD) continue;
    if (!CameToBoth(came)) kill(child, came.si_signo);
  }
  char failure;
  *started = !piped || read(told.get(), &failure, 1) != 1;
  return status;
}

/// If a signal has ended the program, ends this process by the same signal, so that its parent sees
/// the same as without `run`. Otherwise returns the program's exit code. Returns the shells' exit
/// code for the signal if the signal has no effect, as on the first process of a container.
/// `status` is from waitpid().
int EndAs(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int by = WTERMSIG(status);
  prctl(PR_SET_DUMPABLE, 0);  // no second core file: the program has written one
  signal(by, SIG_DFL);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, by);
  raise(by);
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  return kSignalled + by;
}

/// Returns why no daemon can be reached, and a remedy. Returns "" if a daemon can be reached.
std::string NoDaemon(const CommonOptions& common) {
  constexpr std::chrono::milliseconds kPatience{100};
  Expected<Client> client =
      Client::Open({.socket = common.socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client.ok()) return client.error().message;
  const Expected<std::string> info = client->Query("info", {}, kPatience);
  if (info.ok() || info.error().status != CCCL_CACHE_NO_DAEMON) return "";
  return info.error().message;
}

/// Returns the daemon's advice for a library that is in none of its toolchains.
std::string OfUnknownLibrary(const std::string& library, const CommonOptions& common) {
  constexpr std::chrono::seconds kPatience{10};  // the daemon may have to read the whole library
  const std::string way_out = "cccl-cache-cli toolchains add " + library;
  Expected<Client> client = Client::Open(common.socket);
  const Expected<std::string> version =
      client.ok() ? client->FindRelease(library, kPatience) : client.error();
  if (version.ok() && version->empty()) return library + ": the daemon has it by now";
  if (version.ok()) return "it is NVIDIA's " + *version + ": " + way_out;
  const cccl_cache_status status = version.error().status;
  if (status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND || status == CCCL_CACHE_DENIED ||
      status == CCCL_CACHE_OVERLOADED || status == CCCL_CACHE_INVALID_REQUEST) {
    const std::string& why = version.error().message;
    return why.starts_with(library) ? why : library + ": " + why;
  }
  return way_out;
}

/// If there is no daemon, says so on standard error, provided that it is a terminal. Must be called
/// only if no report was requested, because a report would say the same.
void TellIfNoDaemon(const CommonOptions& common) {
  if (isatty(STDERR_FILENO) == 0) return;
  const std::string why = NoDaemon(common);
  if (why.empty()) return;
  const std::string line = "cccl-cache: not cached: " + why + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

/// Runs the program, and then prints a report on its compiles, if it was started. Returns its
/// status as from waitpid().
int RunAndReport(const CommonOptions& common, const RunOptions& options, Variables variables,
                 RunReport report) {
  variables.emplace_back(interpose::ProcessCounts::kVariable, report.directory());
  bool started = true;
  const int status = RunAsChild(common.program, variables, &started);
  if (!started && !common.json) return status;  // the message about that is enough
  const bool each = options.report == "each";
  const Advisor advisor{
      .no_daemon = [&common] { return NoDaemon(common); },
      .unknown_library = [&common](const auto& path) { return OfUnknownLibrary(path, common); }};
  const std::string text = common.json ? report.Json(each, advisor)
                                       : report.Text(each, advisor, WantsColour(STDERR_FILENO));
  // The report goes to standard error, because standard output belongs to the program.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  return status;
}

int Run(const CommonOptions& common, const RunOptions& options) {
  if (common.program.empty()) return FailUsage("run: name the program to run", common);
  if (!options.report.empty() && options.report != "all" && options.report != "each") {
    return FailUsage("run: --report is --report or --report=each", common);
  }
  auto set = VariablesOf(options, common);
  if (const int* failed = std::get_if<int>(&set)) return *failed;
  Variables& variables = std::get<Variables>(set);
  if (options.report.empty() && !common.json) {
    if (!variables.empty()) TellIfNoDaemon(common);
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
          "in "
          "the program; the daemon finishes the compile for the next run. 0: use only hits")
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
