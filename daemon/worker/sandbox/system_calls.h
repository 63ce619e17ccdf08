// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>

#include <utility>
#include <vector>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The system calls of a compile, as a seccomp filter: a list of those that are allowed, found by
/// tracing NVRTC, nvJitLink and libNVVM 12.9 and 13.0. What compilers have no use for and attackers
/// have ends the process (SIGSYS); all else answers ENOSYS, as an older kernel would. Made once,
/// entered by many forks. Immutable.
class SystemCallFilter {
 public:
  /// What may be done with a path: nothing but reading, or nothing at all.
  enum class Paths { kReadOnly, kNone };

  /// Whether the kernel, and whatever confines this process, has seccomp filters that kill.
  [[nodiscard]] static bool Available();
  [[nodiscard]] static Result<SystemCallFilter> Make(Paths paths);

  /// For this thread and all that it starts, for ever. Needs no_new_privs.
  [[nodiscard]] Status Enter() const;

 private:
  explicit SystemCallFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;  ///< with a stand-in for the pid of who enters
};

}  // namespace cccl_cache::daemon
