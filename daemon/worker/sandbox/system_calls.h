// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>

#include <utility>
#include <vector>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// A seccomp filter for the system calls of a compile. The allowed calls were found by traces of
/// NVRTC, nvJitLink and libNVVM 12.9 and 13.0. Calls that only an attacker would make kill the
/// process (SIGSYS). All other calls fail with ENOSYS, as on an older kernel. The zygote makes the
/// filter once, and each forked worker applies it. Immutable.
class SystemCallFilter {
 public:
  /// Whether the process may open files by their paths, for reading.
  enum class Paths { kReadOnly, kNone };

  /// Returns whether this process can use a seccomp filter that kills. The kernel may lack seccomp,
  /// and the sandbox of a container may forbid it.
  [[nodiscard]] static bool Available();
  [[nodiscard]] static Result<SystemCallFilter> Make(Paths paths);

  /// Applies the filter to this thread permanently, and to all threads and processes that it starts
  /// later. The process must have set no_new_privs.
  [[nodiscard]] Status Enter() const;

 private:
  explicit SystemCallFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;  ///< has kOwnPid in place of the pid
};

}  // namespace cccl_cache::daemon
