// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/pidfd.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cccl_cache::daemon {

FileDescriptor OpenPidfd(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void KillProcess(const FileDescriptor& pidfd) {
  syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

}  // namespace cccl_cache::daemon
