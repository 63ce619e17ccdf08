// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "base/file_descriptor.h"

// By system call: the header of glibc 2.36 is not fit for C++.
namespace cccl_cache::daemon {

/// A handle of a process that can't become another's; invalid with errno set if there is none.
[[nodiscard]] FileDescriptor OpenPidfd(pid_t pid);

/// SIGKILL. A process that is dead already is left alone.
void KillProcess(const FileDescriptor& pidfd);

}  // namespace cccl_cache::daemon
