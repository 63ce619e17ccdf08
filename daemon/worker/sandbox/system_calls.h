// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>

#include <utility>
#include <vector>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The system calls of a compile, as a seccomp filter. The list of allowed calls comes from traces
/// of NVRTC, nvJitLink and libNVVM 12.9 and 13.0. Calls that only an attacker would make kill the
/// process (SIGSYS). All other calls return ENOSYS, as on an older kernel. Made once, entered by
/// many forks. Immutable.
class SystemCallFilter {
 public:
  /// The allowed use of paths.
  enum class Paths { kReadOnly, kNone };

  /// Returns whether the kernel, and a sandbox around this process, allow seccomp filters that
  /// kill.
  [[nodiscard]] static bool Available();
  [[nodiscard]] static Result<SystemCallFilter> Make(Paths paths);

  /// Applies the filter to this thread, and for good to all that it starts. Needs no_new_privs.
  [[nodiscard]] Status Enter() const;

 private:
  explicit SystemCallFilter(std::vector<sock_filter> program) : program_(std::move(program)) {}

  std::vector<sock_filter> program_;  ///< with a placeholder for the pid
};

}  // namespace cccl_cache::daemon
