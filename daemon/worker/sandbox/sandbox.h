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

/// Landlock rules: the process can read files below some directories, and can write no file.
/// Landlock does not restrict stat and descriptors with O_PATH. Newer versions also forbid TCP
/// sockets, and abstract sockets of and signals to other processes. The zygote makes the rules
/// once, and each forked worker applies them. Immutable.
class LandlockRules {
 public:
  /// Makes rules for the directories and files in `readable`; missing ones are skipped. If the
  /// kernel has no Landlock, abi() is 0 and Enter() must not be called. Returns an error if the
  /// kernel has Landlock but refuses the rules.
  [[nodiscard]] static Result<LandlockRules> Make(const std::vector<std::string>& readable);

  /// Returns the version of Landlock in the kernel. 0: the kernel has no Landlock.
  [[nodiscard]] int abi() const { return abi_; }
  /// Restricts this thread permanently, and all threads and processes that it starts later. The
  /// process must have set no_new_privs.
  [[nodiscard]] Status Enter() const;

 private:
  LandlockRules(int abi, FileDescriptor ruleset) : abi_(abi), ruleset_(std::move(ruleset)) {}

  int abi_;
  FileDescriptor ruleset_;
};

/// The restrictions of a worker. Their extent depends on the kernel
/// (docs/internals/decisions/0010-workers.md):
///   kReadsToolchain   Landlock and seccomp: the worker reads files below the readable directories
///   kOpensNothing     seccomp: it opens no file; the daemon sends even the toolchain's headers
///   kNone             no seccomp, with or without Landlock: for jobs of the daemon's user only
///
/// The zygote prepares the sandbox once. Each worker enters it before it reads its job, whatever
/// user the job belongs to. Immutable.
class Sandbox {
 public:
  /// Prepares the sandbox. `readable`: absolute real paths. Returns an error if the kernel has
  /// Landlock or seccomp but refuses the rules.
  [[nodiscard]] static Result<Sandbox> Prepare(const std::vector<std::string>& readable);

  [[nodiscard]] SandboxKind kind() const;
  /// Returns a text for the daemon's log, for example "Landlock ABI 4 and seccomp".
  [[nodiscard]] std::string Description() const;

  // Both functions restrict this process permanently. Call them in this order, after no_new_privs
  // was set. A feature that the kernel lacks is skipped. If one of them fails, the worker must
  // exit.

  /// Drops all capabilities and applies the Landlock rules. The zygote's descriptors must still be
  /// open.
  [[nodiscard]] Status LimitReach() const;
  /// Applies the seccomp filter. This is the last step, because the filter forbids the other ones.
  [[nodiscard]] Status LimitCalls() const;

 private:
  Sandbox(LandlockRules landlock, std::optional<SystemCallFilter> filter)
      : landlock_(std::move(landlock)), filter_(std::move(filter)) {}

  LandlockRules landlock_;
  std::optional<SystemCallFilter> filter_;  ///< empty: the kernel has no seccomp
};

/// Returns the directories, and the real paths of the targets of all symlinks in them, because the
/// files of some installations are symlinks. Leaves out targets that are never read (IsNeverRead).
[[nodiscard]] std::vector<std::string> WithLinkTargets(std::vector<std::string> directories);

}  // namespace cccl_cache::daemon
