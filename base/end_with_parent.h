// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

namespace cccl_cache {

/// For a child between fork() and exec(). Has the kernel kill the child when the thread that forked
/// it ends. Returns false if `parent`, the process that forked it, has ended already.
inline bool EndWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // getppid() is 0 if the parent is outside the child's process namespace.
  const pid_t now = getppid();
  return now == parent || now == 0;
}

}  // namespace cccl_cache
