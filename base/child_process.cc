// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/poll.h"

// These functions are newer than the C library that the Python wheel is compiled for. If the
// process has a C library before 2.34, or 2.32 for the second one, the pointer is null.
extern "C" [[gnu::weak]] int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t*,
                                                                      int) noexcept;
extern "C" [[gnu::weak]] const char* sigabbrev_np(int) noexcept;

namespace cccl_cache {
namespace {

using std::chrono::milliseconds;

/// The file actions and attributes that posix_spawn applies to the child before it runs the
/// program. Not copyable.
class SpawnPlan {
 public:
  SpawnPlan(int given, int number) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    // The descriptor is duplicated before the streams are opened, because it may itself have a
    // number from 0 to 2, which opening a stream would overwrite.
    posix_spawn_file_actions_adddup2(&actions_, given, number);
    for (int stream = 0; stream <= STDERR_FILENO; ++stream) {
      if (stream == number) continue;
      posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_RDWR, 0);
    }
    // Closes all other descriptors in the child. Those of a host program may lack close-on-exec.
    if (posix_spawn_file_actions_addclosefrom_np != nullptr) {
      const int rest = std::max(number, STDERR_FILENO) + 1;
      posix_spawn_file_actions_addclosefrom_np(&actions_, rest);
    }
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// Returns 0 or an errno value.
  int Run(const std::string& path, char* const* environment, pid_t* pid) const {
    char* arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    return posix_spawn(pid, path.c_str(), &actions_, &attributes_, arguments, environment);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// Returns a pidfd of the process, or an invalid descriptor before Linux 6.9. There all pidfds and
/// eventfds share one inode, so VerifiedDescriptor could not distinguish them. Sets `gone` to
/// whether the process does not exist any more.
VerifiedDescriptor OpenProcess(pid_t pid, bool* gone) {
  FileDescriptor process = OpenPidfd(pid);
  *gone = !process.valid() && errno == ESRCH;
  struct statfs files {};
  const bool own = fstatfs(process.get(), &files) == 0 && files.f_type != ANON_INODE_FS_MAGIC;
  return own ? VerifiedDescriptor(std::move(process)) : VerifiedDescriptor();
}

/// Returns whether this program has an unreaped child with this pid. Normally that is the started
/// child. If the host program has reaped that one, it may be a later child of the host program.
bool IsChild(pid_t pid, siginfo_t* info) {
  return waitid(P_PID, static_cast<id_t>(pid), info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool IsChild(pid_t pid) {
  siginfo_t ignored{};
  return IsChild(pid, &ignored);
}

/// Waits for the child, reaps it, and returns how it ended. Waits by `pidfd` unless it is negative,
/// because another child of the host program may have got the pid.
std::string Reap(int pidfd, pid_t pid) {
  const bool by_descriptor = pidfd >= 0;
  siginfo_t end{};
  int failed;
  do {
    failed = waitid(by_descriptor ? P_PIDFD : P_PID, static_cast<id_t>(by_descriptor ? pidfd : pid),
                    &end, WEXITED);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return "an unknown end";
  return DescribeWaitStatus(end.si_code == CLD_EXITED ? W_EXITCODE(end.si_status, 0)
                                                      : W_EXITCODE(0, end.si_status));
}

}  // namespace

std::optional<ChildProcess> ChildProcess::Start(const std::string& path, int given, int number,
                                                char* const* environment) {
  pid_t pid = 0;
  errno = SpawnPlan(given, number).Run(path, environment, &pid);
  if (errno != 0) return std::nullopt;
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(pid_t pid) : pid_(pid), pidfd_(OpenProcess(pid, &gone_)) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), gone_(other.gone_), pidfd_(std::move(other.pidfd_)) {}

bool ChildProcess::Ended() const {
  if (pid_ == 0 || gone_) return true;
  if (const int process = pidfd_.Get(); process >= 0) return WaitReadable(process, milliseconds(0));
  siginfo_t info{};
  return !IsChild(pid_, &info) || info.si_pid != 0;
}

std::string ChildProcess::End(milliseconds patience) {
  const pid_t pid = std::exchange(pid_, 0);
  if (pid == 0) return "an earlier end";
  if (gone_) return "an unknown end";
  // The pidfd is opened first. If the pid still belongs to a child of this program afterwards, the
  // pidfd refers to that child.
  const FileDescriptor opened = OpenPidfd(pid);
  const int verified = pidfd_.Get();
  const int process = verified >= 0 ? verified : IsChild(pid) ? opened.get() : -1;
  if (process >= 0) {
    if (!WaitReadable(process, patience)) KillProcess(process);
  } else if (IsChild(pid)) {
    kill(pid, SIGKILL);  // pidfd_open does not exist before Linux 5.3
  }
  const std::string end = Reap(verified, pid);
  pidfd_ = VerifiedDescriptor();
  return end;
}

std::string DescribeWaitStatus(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit status " + std::to_string(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* const name = sigabbrev_np == nullptr ? nullptr : sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

FileDescriptor OpenPidfd(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void KillProcess(int pidfd) { syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

}  // namespace cccl_cache
