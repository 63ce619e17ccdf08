// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/daemon/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/end_with_parent.h"
#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "base/start_advice.h"
#include "cli/daemon_answers.h"
#include "cli/run/child.h"
#include "cli/terminal/progress.h"

namespace cccl_cache::cli {
namespace {

namespace fs = std::filesystem;

/// Variables that are not meant for the daemon: stand-ins of a surrounding `run`, and what systemd
/// has set for the unit that this process is a part of.
constexpr std::array kRemoved = {"LD_AUDIT",
                                 "LD_PRELOAD",
                                 "NOTIFY_SOCKET",
                                 "LISTEN_PID",
                                 "LISTEN_FDS",
                                 "LISTEN_FDNAMES",
                                 "WATCHDOG_USEC",
                                 "WATCHDOG_PID",
                                 "JOURNAL_STREAM",
                                 "STATE_DIRECTORY",
                                 "RUNTIME_DIRECTORY",
                                 "CONFIGURATION_DIRECTORY",
                                 "CREDENTIALS_DIRECTORY"};

/// Replaces this process, a forked child, by the daemon, with `log` as its output. Returns only if
/// that fails.
void BecomeDaemon(const DaemonStart& start, int log) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  // A reader of a pipe that this process was given would otherwise wait for the daemon's end. Has
  // no effect before Linux 5.9.
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  for (const char* name : kRemoved) unsetenv(name);
  for (const auto& [name, value] : start.defaults) setenv(name.c_str(), value.c_str(), 0);
  std::vector<std::string> words = {start.program, "--socket", start.socket, "--socket-mode",
                                    "0600"};
  words.insert(words.end(), start.flags.begin(), start.flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // The daemon shall not keep a file system in use.
  if (chdir("/") == 0) execv(arguments[0], arguments.data());
  constexpr std::string_view kFailed = "cccl-cached can't be started\n";
  [[maybe_unused]] const ssize_t written = write(log, kFailed.data(), kFailed.size());
}

/// Returns the last line of the log.
std::string LastLine(const std::string& log) {
  std::string text = ReadFileAt(log).value_or("");
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

std::string PythonEnvironmentOf(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(program.find('/') == std::string::npos && path != nullptr
                                     ? path
                                     : fs::path(program).parent_path().string());
  const std::string name = fs::path(program).filename().string();
  std::error_code error;
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (access((directory + "/" + name).c_str(), X_OK) != 0) continue;
    const fs::path prefix = fs::absolute(directory, error).lexically_normal().parent_path();
    const bool found =
        fs::exists(prefix / "pyvenv.cfg", error) || fs::exists(prefix / "conda-meta", error);
    return found ? prefix.string() : "";
  }
  return "";
}

Expected<std::string> FindDaemon() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place :
       {"cccl-cached", "../cccl_cache_daemon/cccl-cached", "../daemon/cccl-cached"}) {
    const fs::path path = (own / place).lexically_normal();
    // In the Python package a directory has the daemon's name.
    if (fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0) return path.string();
  }
  return Error{CCCL_CACHE_UNAVAILABLE,
               "the daemon is not installed with this program, in " + own.string() +
                   ": install the package cccl-cached, or for Python cccl-cache[daemon]"};
}

std::string AdviceHere(const std::string& advice) {
  if (advice.find(kStartOwn) == std::string::npos) return advice;
  const Expected<std::string> daemon = FindDaemon();
  return daemon.ok() ? advice : advice + "; but " + daemon.error().message;
}

Expected<DaemonProcess> DaemonProcess::Start(const DaemonStart& start) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  const FileDescriptor log(open(start.log.c_str(), kNew, 0600));
  if (!log.valid()) {
    return Error{CCCL_CACHE_UNAVAILABLE, start.log + ": " + std::strerror(errno)};
  }
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) {
    if (!start.bound || EndWithParent(self)) BecomeDaemon(start, log.get());
    _exit(EXIT_FAILURE);
  }
  if (child < 0) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 std::string("can't start a process: ") + std::strerror(errno)};
  }
  return DaemonProcess(child, start);
}

Expected<Done> DaemonProcess::AwaitReady(std::chrono::milliseconds patience,
                                         const std::function<bool()>& stopped) {
  constexpr std::chrono::milliseconds kBetween{20};
  constexpr std::chrono::milliseconds kOneAnswer{500};
  const auto end = std::chrono::steady_clock::now() + patience;
  Expected<Client> client =
      Client::Open({.socket = start_.socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (!client.ok()) return client.error();
  const ProgressOfCall progress([] {
    return std::string("the daemon starts: it reads the CUDA toolchains of this machine");
  });
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || stopped()) {
      return Error{CCCL_CACHE_DEADLINE, "cccl-cached does not answer yet; its log: " + start_.log};
    }
    // The answer waits until the daemon has searched for toolchains.
    const Expected<ToolchainList> answer = AskToolchains(*client, 0, std::min(left, kOneAnswer));
    if (answer.ok()) return Done{};
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      return Error{CCCL_CACHE_UNAVAILABLE, "cccl-cached ended at its start (" +
                                               DescribeWaitStatus(status) +
                                               "): " + LastLine(start_.log)};
    }
    std::this_thread::sleep_for(kBetween);
  }
}

std::chrono::microseconds DaemonProcess::Stop() { return End(SIGTERM); }

DaemonProcess::~DaemonProcess() { End(SIGKILL); }

std::chrono::microseconds DaemonProcess::End(int signal) {
  rusage usage{};
  const pid_t pid = std::exchange(pid_, 0);
  if (pid == 0) return {};
  kill(pid, signal);
  while (wait4(pid, nullptr, 0, &usage) < 0 && errno == EINTR) {
  }
  return ProcessorTime(usage);
}

}  // namespace cccl_cache::cli
