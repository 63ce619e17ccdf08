// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/spawned_process.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace cccl_cache {
namespace {

// Variables that locate toolchains, the cache of their probes, and the program's own libraries.
constexpr std::array<std::string_view, 6> kPassedOn = {
    "CCCL_CACHED_", "CUDA_HOME=", "CUDA_PATH=", "HOME=", "XDG_", "LD_LIBRARY_PATH="};

std::vector<char*> Environment() {
  std::vector<char*> variables;
  const bool trusted = getauxval(AT_SECURE) == 0;
  for (char** each = environ; trusted && each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const bool passed = std::any_of(kPassedOn.begin(), kPassedOn.end(), [&](std::string_view name) {
      return variable.starts_with(name);
    });
    if (passed) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  return variables;
}

/// Returns a descriptor of the process, if it can be distinguished from the program's own. Before
/// Linux 6.9 all have one inode, that of eventfds.
VerifiedDescriptor OpenProcess(pid_t pid, bool* gone) {
  FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  *gone = !process.valid() && errno == ESRCH;
  struct statfs files {};
  const bool own = fstatfs(process.get(), &files) == 0 && files.f_type != ANON_INODE_FS_MAGIC;
  return own ? VerifiedDescriptor(std::move(process)) : VerifiedDescriptor();
}

/// Returns whether this is a child that was not reaped yet, whose number no other process can have.
bool IsChild(pid_t pid) {
  siginfo_t ignored;
  return waitid(P_PID, static_cast<id_t>(pid), &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// The attributes and file actions of posix_spawn.
class SpawnPlan {
 public:
  explicit SpawnPlan(int standard_input) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_adddup2(&actions_, standard_input, STDIN_FILENO);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_WRONLY, 0);
    }
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // An errno value.
  int Run(const std::string& path, pid_t* pid) const {
    char* arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    return posix_spawn(pid, path.c_str(), &actions_, &attributes_, arguments, Environment().data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Expected<SpawnedProcess> SpawnedProcess::Start(const std::string& path, int standard_input) {
  pid_t pid = 0;
  const int error = SpawnPlan(standard_input).Run(path, &pid);
  if (error != 0) {
    return Error{CCCL_CACHE_UNAVAILABLE, "running " + path + ": " + std::strerror(error)};
  }
  return SpawnedProcess(pid);
}

SpawnedProcess::SpawnedProcess(pid_t pid) : pid_(pid), pidfd_(OpenProcess(pid, &gone_)) {}

SpawnedProcess::SpawnedProcess(SpawnedProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), gone_(other.gone_), pidfd_(std::move(other.pidfd_)) {}

std::string SpawnedProcess::End() {
  if (pid_ == 0) return "an earlier end";
  if (gone_) {
    pid_ = 0;
    return "an unknown end";
  }
  if (const int process = pidfd_.Get(); process >= 0) {
    syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0);
  } else if (IsChild(pid_)) {
    kill(pid_, SIGKILL);
  }
  int status = 0;
  pid_t reaped;
  do {
    reaped = waitpid(pid_, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  pid_ = 0;
  if (reaped < 0) return "an unknown end";
  if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  return "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace cccl_cache
