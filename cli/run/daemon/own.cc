// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/daemon/own.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/files/own_path.h"
#include "base/files/user_cache.h"
#include "base/files/whole_file.h"
#include "base/machine.h"
#include "base/start_advice.h"
#include "base/text.h"
#include "cli/run/daemon/process.h"
#include "cli/run/environment.h"
#include "cli/terminal/command.h"

namespace cccl_cache::cli {
namespace {

namespace fs = std::filesystem;

/// How long a program waits for a daemon that reads its toolchains for the first time.
constexpr std::chrono::seconds kOwnPatience{30};
/// The daemon's setting idle_timeout, unless the environment has another value.
constexpr const char* kIdleVariable = "CCCL_CACHED_IDLE_TIMEOUT";
constexpr const char* kIdleTimeout = "1h";
/// The file with the answer of the person at the terminal.
constexpr const char* kAnswer = "start-own-daemon";

std::string UserConfigDirectory() {
  return UserDirectory(Variable("XDG_CONFIG_HOME"), Variable("HOME"), "/.config");
}

Error Refusal(std::string why) { return Error{CCCL_CACHE_UNAVAILABLE, std::move(why)}; }

/// Returns why other users could replace a part of the path of a directory, which may be missing.
/// Returns "" if they can't.
std::string WhyNotOwn(const std::string& directory) {
  return OwnDirectory(directory, {.makes_missing = true}).refusal;
}

/// Returns the directory with the person's answer. Returns "" if there is none that other users
/// can't replace: `su` keeps the XDG_CONFIG_HOME of another user.
std::string AnswerDirectory() {
  const std::string base = UserConfigDirectory();
  const std::string directory = base + "/cccl-cache";
  return base.empty() || !WhyNotOwn(directory).empty() ? "" : directory;
}

/// Returns the first socket of this user whose directory can be made. A job may have the name of a
/// runtime directory that does not exist, or that is another user's.
std::string OwnSocket() {
  const std::vector<std::string> sockets =
      UsersSockets(Variable("XDG_RUNTIME_DIR"), Variable("HOME"));
  for (const std::string& socket : sockets) {
    const fs::path directory = fs::path(socket).parent_path();
    const bool writable = access(directory.parent_path().c_str(), W_OK) == 0;
    if (writable && WhyNotOwn(directory.string()).empty()) return socket;
  }
  return sockets.empty() ? "" : sockets.front();
}

/// Returns how this user's own daemon is started, or why none is.
Expected<DaemonStart> PlanOwnDaemon(const std::string& named_socket, const std::string& program) {
  if (!named_socket.empty() || !Variable("CCCL_CACHE_SOCKET").empty()) {
    return Refusal("a socket is named, and a daemon of your own has another one");
  }
  if (MachineHasDaemon()) {
    return Refusal(std::string("this machine has a daemon at ") + kSystemSocket +
                   ", and none is started in its place");
  }
  Expected<std::string> daemon = FindDaemon();
  if (!daemon.ok()) return daemon.error();
  const std::string socket = OwnSocket();
  const std::string states =
      UserDirectory(Variable("XDG_STATE_HOME"), Variable("HOME"), "/.local/state");
  if (socket.empty() || states.empty()) return Refusal("HOME is not set");
  const std::string state = states + "/cccl-cached";
  // `sudo` may keep the HOME of another user, in which nothing may be made.
  if (std::string why = WhyNotOwn(state); !why.empty()) return Refusal(std::move(why));
  DaemonStart start{.program = *std::move(daemon), .socket = socket, .log = state + "/log"};
  start.defaults = {{kIdleVariable, kIdleTimeout}};
  // A variable would replace the directories that a configuration names.
  const std::string environment = PythonEnvironmentOf(program);
  const std::string configuration =
      (geteuid() == 0 ? "/etc" : UserConfigDirectory()) + "/cccl-cached/config.toml";
  const bool configured =
      !Variable("CCCL_CACHED_CONFIG").empty() || access(configuration.c_str(), F_OK) == 0;
  if (!environment.empty() && !configured) {
    start.defaults.emplace_back("CCCL_CACHED_TOOLCHAIN_ROOT", environment);
  }
  // By default root's daemon is that of the machine, with other directories and for containers too.
  if (geteuid() == 0) {
    start.flags = {"--state-dir", state};
    start.defaults.emplace_back("CCCL_CACHED_CONTAINER_SOCKET", "");
  }
  return start;
}

/// Starts the daemon from a process in between, so that it is no child of the program that replaces
/// this process. Returns why that failed, or "".
std::string StartDetached(const DaemonStart& start) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return std::strerror(errno);
  const FileDescriptor told(ends[0]);
  FileDescriptor tell(ends[1]);
  const pid_t between = fork();
  if (between == 0) {
    setsid();                  // an interrupt at the terminal ends the program, but not the start
    signal(SIGCHLD, SIG_DFL);  // if it were ignored, the daemon's end could not be seen
    Expected<DaemonProcess> daemon = DaemonProcess::Start(start);
    const Expected<Done> ready = daemon.ok() ? daemon->AwaitReady(kOwnPatience) : daemon.error();
    // A daemon that still reads its toolchains is started, and serves later compiles.
    const bool failed = !ready.ok() && ready.error().status != CCCL_CACHE_DEADLINE;
    if (failed) (void)WriteAll(tell.get(), ready.error().message);
    _exit(EXIT_SUCCESS);
  }
  tell.Close();
  if (between < 0) return std::strerror(errno);
  std::string failure = ReadAll(told.get()).value_or("");
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return failure;
}

/// Makes a directory of this user.
Expected<Done> MakeOwnDirectory(const std::string& path) {
  MakeLastDirectories(path, 3);
  const FollowedDirectory own = OwnDirectory(path);
  if (!own.refusal.empty()) return Refusal(own.refusal);
  return Done{};
}

/// Returns whether a daemon holds the lock of this state directory. Waits a moment for the end of a
/// daemon of this node that has closed its socket already.
bool IsInUse(const std::string& state) {
  constexpr std::chrono::seconds kPatience{1};
  constexpr std::chrono::milliseconds kPause{10};
  const FileDescriptor lock(open((state + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (lock.valid() && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() >= end) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

/// Starts the daemon unless another process has just done so. If the usual state directory is in
/// use, by a daemon that this node can't reach, the directory beside it with the node's name is
/// used: nodes may share a home. Returns the path of the log of the started daemon, or "".
Expected<std::string> StartOnce(DaemonStart start) {
  const std::string usual = fs::path(start.log).parent_path().string();
  if (const auto made = MakeOwnDirectory(usual); !made.ok()) return made.error();
  // Other users can't open the log, but could lock a directory that they may read. If the file
  // system has no locks, those of the daemon decide.
  const FileDescriptor lock(
      open(start.log.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  (void)flock(lock.get(), LOCK_EX);
  if (WhyNoDaemon({}).empty()) return std::string();
  if (IsInUse(usual)) {
    const std::string of_node = usual + "-" + HostName();
    if (const auto made = MakeOwnDirectory(of_node); !made.ok()) return made.error();
    start.flags = {"--state-dir", of_node};
    start.log = of_node + "/log";
  }
  std::string failure = StartDetached(start);
  if (!failure.empty()) return Refusal(std::move(failure));
  return start.log;
}

/// Returns whether a person can answer a question: this process is in the foreground of a terminal,
/// which all its streams are, and not in CI.
bool CanAsk() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (isatty(stream) == 0) return false;
  }
  return tcgetpgrp(STDIN_FILENO) == getpgrp() && Variable("CI").empty();
}

/// Returns the line that the person types, in lower case and without its end. None at the end of
/// the input.
std::optional<std::string> ReadAnswer() {
  std::array<char, 256> typed;
  const ssize_t length = read(STDIN_FILENO, typed.data(), typed.size());
  if (length <= 0) return std::nullopt;
  std::string answer(typed.data(), static_cast<size_t>(length));
  answer.resize(std::min(answer.find_first_of("\r\n"), answer.size()));
  for (char& c : answer) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return answer;
}

/// Asks whether to start a daemon, unless there is a kept answer. Keeps a clear answer.
bool PersonAgrees() {
  const std::string directory = AnswerDirectory();
  const UserCache answers(directory, 2);
  if (const auto kept = answers.Get(kAnswer)) return kept->starts_with("yes");
  constexpr std::string_view kQuestion =
      "cccl-cache: no daemon runs, so nothing is cached. Start one of your own? It ends after an "
      "hour without use. [Y/n] ";
  if (!WriteAll(STDERR_FILENO, kQuestion)) return false;
  const std::optional<std::string> answer = ReadAnswer();
  const bool yes = answer && (answer->empty() || *answer == "y" || *answer == "yes");
  if (!yes && (!answer || (*answer != "n" && *answer != "no"))) return false;
  if (directory.empty()) return yes;
  answers.Put(kAnswer, yes ? "yes\n" : "no\n");
  PrintNotice("delete " + directory + "/" + kAnswer + " to be asked again" +
              (yes ? "; in scripts, say run --start" : "; run --start starts one"));
  return yes;
}

}  // namespace

void PrintNotice(const std::string& text) {
  const std::string line = "cccl-cache: " + Printable(text) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

std::string WhyNoDaemon(const std::string& socket) {
  constexpr std::chrono::milliseconds kPatience{100};
  Expected<Client> client = Client::Open({.socket = socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client.ok()) return AdviceHere(client.error().message);
  const Expected<std::string> info = client->Query("info", {}, kPatience);
  if (info.ok() || info.error().status != CCCL_CACHE_NO_DAEMON) return "";
  return AdviceHere(info.error().message);
}

bool StartOwnDaemon(const std::string& socket, const std::string& program, bool asked_for) {
  if (!asked_for && !CanAsk()) return false;
  const std::string why = WhyNoDaemon(socket);
  if (why.empty()) return false;
  const Expected<DaemonStart> plan = PlanOwnDaemon(socket, program);
  if (!asked_for && (!plan.ok() || !PersonAgrees())) return false;
  const Expected<std::string> log = plan.ok() ? StartOnce(*plan) : plan.error();
  if (!log.ok()) {
    PrintNotice("not cached: no daemon was started: " + log.error().message);
  } else if (!log->empty()) {
    const bool usual = Variable(kIdleVariable).empty();
    PrintNotice(std::string("started a daemon") +
                (usual ? ", which ends after an hour without use" : "") + "; its log: " + *log);
  }
  return true;
}

}  // namespace cccl_cache::cli
