// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/poll.h"

// These functions are newer than the C library that the Python wheel is compiled for. They are null
// where the wheel runs with a C library before 2.34.
extern "C" [[gnu::weak]] int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t*,
                                                                      int) noexcept;
extern "C" [[gnu::weak]] const char* sigabbrev_np(int) noexcept;

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

/// The settings that posix_spawn applies to the child before it runs the program. Not copyable.
class SpawnPlan {
 public:
  explicit SpawnPlan(int fd) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    Describe(fd);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// Returns 0 or an errno value.
  int Run(const std::string& path, pid_t* pid) const {
    char* arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    char* environment[] = {nullptr};
    return posix_spawn(pid, path.c_str(), &actions_, &attributes_, arguments, environment);
  }

 private:
  void Describe(int fd) {
    // The descriptor moves before the streams are opened: it may be one of 0 to 2 itself.
    posix_spawn_file_actions_adddup2(&actions_, fd, 3);
    for (int stream = 0; stream < 3; ++stream) {
      posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_RDWR, 0);
    }
    // A precaution: the daemon's descriptors are all close-on-exec anyway.
    if (posix_spawn_file_actions_addclosefrom_np != nullptr) {
      posix_spawn_file_actions_addclosefrom_np(&actions_, 4);
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

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<ChildProcess> ChildProcess::Start(const std::string& path, int fd) {
  pid_t pid = 0;
  const int error = SpawnPlan(fd).Run(path, &pid);
  if (error != 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("running {}: {}", path, strerror(error))};
  }
  FileDescriptor pidfd = OpenPidfd(pid);
  if (!pidfd.valid()) {
    const int cause = errno;
    kill(pid, SIGKILL);  // the pid is still this child's: it is not reaped yet
    waitpid(pid, nullptr, 0);
    return Error{ErrorCode::kUnavailable,
                 fmt::format("getting hold of {}: {}", path, strerror(cause))};
  }
  return ChildProcess(pid, std::move(pidfd));
}

ChildProcess::~ChildProcess() { End(milliseconds(0)); }

bool ChildProcess::Ended() const {
  return !pidfd_.valid() || WaitReadable(pidfd_.get(), milliseconds(0));
}

std::string ChildProcess::End(milliseconds patience) {
  if (!pidfd_.valid()) return "an earlier end";
  if (!WaitReadable(pidfd_.get(), patience)) KillProcess(pidfd_);
  siginfo_t info{};
  int reaped;
  do {
    reaped = waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED);
  } while (reaped < 0 && errno == EINTR);
  pidfd_.Close();
  if (reaped < 0) return "an unknown end";
  return DescribeWaitStatus(info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
                                                       : W_EXITCODE(0, info.si_status));
}

std::string DescribeWaitStatus(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exit status {}", WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np == nullptr ? nullptr : sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

FileDescriptor OpenPidfd(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void KillProcess(const FileDescriptor& pidfd) {
  syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

}  // namespace cccl_cache::daemon
