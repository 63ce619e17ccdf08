// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/end_with_parent.h"
#include "base/files/file_descriptor.h"
#include "cli/terminal/command.h"

namespace cccl_cache::cli {
namespace {

// Exit codes with the same meanings as those of shells.
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;
constexpr int kSignalled = 128;

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// Returns whether the program has received the signal as well, so that it must not be forwarded. A
/// terminal sends its signals to both processes, except SIGHUP, which goes only to the leader of
/// the session.
bool CameToBoth(const siginfo_t& came) {
  return came.si_code == SI_KERNEL && (came.si_signo != SIGHUP || getsid(0) != getpid());
}

}  // namespace

HeldSignals::HeldSignals() {
  // The stop signals of job control are left out, because they stop both processes anyway.
  sigfillset(&set_);
  for (const int each : {SIGTSTP, SIGTTIN, SIGTTOU}) sigdelset(&set_, each);
  // If SIGCHLD were ignored, waitpid() would return no status.
  of_children_ = signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &set_, &before_);
}

void HeldSignals::Restore() const {
  signal(SIGCHLD, of_children_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int HeldSignals::EndRequest() const {
  sigset_t waiting;
  sigpending(&waiting);
  const auto* const found = std::ranges::find_if(
      kEnding, [&waiting](int each) { return sigismember(&waiting, each) == 1; });
  return found == kEnding.end() ? 0 : *found;
}

bool AsksToEnd(int signal) { return std::ranges::find(kEnding, signal) != kEnding.end(); }

int CannotStart(const std::string& program) {
  const int error = errno;
  std::string why = std::strerror(error);
  if (error == ENOENT && program.find('/') == std::string::npos) {
    why = "it is in no directory of PATH";
    if (access(program.c_str(), F_OK) == 0) why += "; the file here is ./" + program;
  }
  Complain("can't run " + program + ": " + why);
  return error == ENOENT ? kNotFound : kNotExecutable;
}

std::chrono::microseconds ProcessorTime(const rusage& usage) {
  const auto sum = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return sum(usage.ru_utime) + sum(usage.ru_stime);
}

ChildEnd RunAsChild(const HeldSignals& signals, const std::function<int()>& start) {
  using Clock = std::chrono::steady_clock;
  // Closed by the start of the program.
  int ends[2] = {-1, -1};
  const bool piped = pipe2(ends, O_CLOEXEC) == 0;
  const FileDescriptor told(ends[0]);
  FileDescriptor tell(ends[1]);
  const pid_t self = getpid();
  const Clock::time_point begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    // SIGKILL can't be caught and forwarded. So the kernel kills the child when the parent ends.
    if (!EndWithParent(self)) _exit(kSignalled + SIGKILL);
    signals.Restore();
    const int code = start();
    [[maybe_unused]] const ssize_t written = write(tell.get(), "", 1);
    _exit(code);
  }
  tell.Close();
  if (child < 0) {
    Complain(std::string("can't start a process: ") + std::strerror(errno));
    return {.status = W_EXITCODE(kOther, 0)};
  }
  ChildEnd end;
  rusage usage{};
  while (wait4(child, &end.status, WNOHANG, &usage) == 0) {
    siginfo_t came;
    if (sigwaitinfo(&signals.set(), &came) < 0 || came.si_signo == SIGCHLD) continue;
    end.end_requested |= AsksToEnd(came.si_signo);
    if (!CameToBoth(came)) kill(child, came.si_signo);
  }
  end.wall_time = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  end.processor_time = ProcessorTime(usage);
  char failure;
  end.started = !piped || read(told.get(), &failure, 1) != 1;
  return end;
}

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

}  // namespace cccl_cache::cli
