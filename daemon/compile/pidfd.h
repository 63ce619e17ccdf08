// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "base/file_descriptor.h"

// These functions use system calls directly: the header of glibc 2.36 does not compile as C++.
namespace cccl_cache::daemon {

/// Returns a handle of a process, which never comes to mean another process. Returns an invalid
/// descriptor, with errno set, if there is no such process.
[[nodiscard]] FileDescriptor OpenPidfd(pid_t pid);

/// Sends SIGKILL. Does nothing if the process is already dead.
void KillProcess(const FileDescriptor& pidfd);

}  // namespace cccl_cache::daemon
