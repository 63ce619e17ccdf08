// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"
#include "daemon/worker/sandbox/system_calls.h"

namespace cccl_cache::daemon {

/// Landlock rules under which a process reads files beneath some directories and writes none. As
/// far as the kernel's Landlock supports it, the process neither binds nor connects TCP sockets,
/// reaches abstract sockets of others, nor signals others. Made once, entered by many forks.
/// Landlock guards contents only: it does not restrict stat and descriptors of directories
/// (O_PATH). Immutable.
class LandlockRules {
 public:
  /// Makes the rules. A kernel without Landlock gives rules with abi() 0, which can't be entered. A
  /// directory that does not exist is left out. Returns an error if the kernel has Landlock and
  /// refuses the rules.
  [[nodiscard]] static Result<LandlockRules> Make(const std::vector<std::string>& readable);

  /// Returns the Landlock version of the kernel; 0: none.
  [[nodiscard]] int abi() const { return abi_; }
  /// Applies the rules to this thread and all that it starts, permanently. Needs no_new_privs.
  [[nodiscard]] Status Enter() const;

 private:
  LandlockRules(int abi, FileDescriptor ruleset) : abi_(abi), ruleset_(std::move(ruleset)) {}

  int abi_;
  FileDescriptor ruleset_;
};

/// The confinement of a worker, as far as this kernel supports it
/// (docs/internals/decisions/0010-workers.md):
///   kReadsToolchain   Landlock and seccomp: reads beneath the readable directories
///   kOpensNothing     seccomp alone: even the toolchain's headers must be handed over
///   kNone             no seccomp, and Landlock or not: only for the daemon's own user
/// Prepared once in the zygote, and entered by each worker before it reads its job, for every user.
/// Immutable.
class Sandbox {
 public:
  /// Prepares the sandbox. `readable`: absolute real paths. Returns an error if the kernel has the
  /// features but refuses to use them.
  [[nodiscard]] static Result<Sandbox> Prepare(const std::vector<std::string>& readable);

  [[nodiscard]] SandboxKind kind() const;
  /// Returns a description for the daemon's log: "Landlock ABI 4 and seccomp".
  [[nodiscard]] std::string Description() const;

  // Both functions apply to this process permanently, and must be called in this order, after
  // no_new_privs. Features that the kernel lacks are left out. An error is fatal to the worker.

  /// Drops capabilities and enters Landlock, while the zygote's descriptors are still open.
  [[nodiscard]] Status LimitReach() const;
  /// Enters the seccomp filter, after all other steps.
  [[nodiscard]] Status LimitCalls() const;

 private:
  Sandbox(LandlockRules landlock, std::optional<SystemCallFilter> filter)
      : landlock_(std::move(landlock)), filter_(std::move(filter)) {}

  LandlockRules landlock_;
  std::optional<SystemCallFilter> filter_;  ///< empty: the kernel has no seccomp
};

/// Returns the directories and, as real paths, all places elsewhere to which symlinks in them lead:
/// some installations of a toolchain are made of links. Targets that are never read (IsNeverRead)
/// are left out.
[[nodiscard]] std::vector<std::string> WithLinkTargets(std::vector<std::string> directories);

}  // namespace cccl_cache::daemon
