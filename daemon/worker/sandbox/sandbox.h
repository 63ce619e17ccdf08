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

/// Landlock rules under which a process reads files below some directories and writes none. Newer
/// versions of Landlock also forbid TCP sockets, abstract sockets of other processes, and signals
/// to other processes. Made once, entered by many forks. Landlock guards contents only: it does not
/// restrict stat and O_PATH descriptors. Immutable.
class LandlockRules {
 public:
  /// Makes the rules. Without Landlock in the kernel, abi() is 0 and the rules can't be entered. A
  /// missing directory is skipped. Returns an error if the kernel has Landlock and refuses the
  /// rules.
  [[nodiscard]] static Result<LandlockRules> Make(const std::vector<std::string>& readable);

  /// Returns the Landlock version of the kernel; 0: none.
  [[nodiscard]] int abi() const { return abi_; }
  /// Applies the rules to this thread, and for good to all threads and processes that it starts.
  /// Needs no_new_privs.
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
/// Prepared once in the zygote; each worker, of any user, enters it before it reads its job.
/// Immutable.
class Sandbox {
 public:
  /// Prepares the sandbox. `readable`: absolute real paths. Returns an error if the kernel has a
  /// feature but refuses to use it.
  [[nodiscard]] static Result<Sandbox> Prepare(const std::vector<std::string>& readable);

  [[nodiscard]] SandboxKind kind() const;
  /// Returns a description for the daemon's log: "Landlock ABI 4 and seccomp".
  [[nodiscard]] std::string Description() const;

  // Both functions restrict this process for good, and must be called in this order, after
  // no_new_privs. Features that the kernel lacks are left out. After an error the worker must exit.

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

/// Returns the directories and the real paths of all places to which symlinks in them lead: some
/// installations consist of symlinks. Targets that are never read (IsNeverRead) are left out.
[[nodiscard]] std::vector<std::string> WithLinkTargets(std::vector<std::string> directories);

}  // namespace cccl_cache::daemon
