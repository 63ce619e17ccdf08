// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

namespace cccl_cache {

/// To be called in a child between fork() and exec(). Has the kernel send the signal to the child
/// when the thread that called fork() ends. Returns false if the process that called fork(), with
/// the pid `parent`, has already ended.
inline bool EndWithParent(pid_t parent, int signal = SIGKILL) {
  prctl(PR_SET_PDEATHSIG, signal);
  // getppid() is 0 if the parent is outside the child's process namespace.
  const pid_t now = getppid();
  return now == parent || now == 0;
}

}  // namespace cccl_cache
