// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"
#include "daemon/worker/sandbox/landlock.h"
#include "daemon/worker/sandbox/system_calls.h"

namespace cccl_cache::daemon {

/// The walls around a worker, as far as this kernel builds them
/// (docs/internals/decisions/0010-sandbox-without-landlock.md):
///   kReadsToolchain   Landlock and seccomp: reads beneath the readable directories
///   kOpensNothing     seccomp alone: even the toolchain's headers must be handed over
///   kNone             no seccomp, and Landlock or not: not for other users than the daemon's
/// Prepared once in the zygote, entered by each worker before it reads its job, whoever wants it.
/// Immutable.
class Sandbox {
 public:
  /// `readable`: absolute real paths. Errors: the kernel has what it takes, and refuses.
  [[nodiscard]] static Result<Sandbox> Prepare(const std::vector<std::string>& readable);

  [[nodiscard]] SandboxKind kind() const;
  /// "Landlock ABI 4 and seccomp": for the daemon's log.
  [[nodiscard]] std::string Description() const;

  // Both for this process, for ever, in this order, after no_new_privs. What the kernel does not
  // have is left out; an error is fatal to the worker.

  /// Capabilities and Landlock: while the zygote's descriptors are still open.
  [[nodiscard]] Status LimitReach() const;
  /// seccomp: when all else is done.
  [[nodiscard]] Status LimitCalls() const;

 private:
  Sandbox(LandlockRules landlock, std::optional<SystemCallFilter> filter)
      : landlock_(std::move(landlock)), filter_(std::move(filter)) {}

  LandlockRules landlock_;
  std::optional<SystemCallFilter> filter_;  ///< none: the kernel has no seccomp
};

/// The directories and, as real paths, all that symlinks in them lead to elsewhere: some
/// installations of a toolchain are made of links. What /proc, /sys and /dev hold is left out.
[[nodiscard]] std::vector<std::string> WithLinkTargets(std::vector<std::string> directories);

}  // namespace cccl_cache::daemon
