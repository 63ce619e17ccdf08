// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/result.h"
#include "daemon/worker/sandbox_landlock.h"
#include "daemon/worker/sandbox_system_calls.h"

namespace cccl_cached {

/// The walls around a worker, as far as this kernel builds them
/// (docs/decisions/0010-sandbox-without-landlock.md):
///   Landlock and seccomp   reads beneath the readable directories
///   seccomp alone          opens nothing by name: even the toolchain's headers must be handed over
///   no seccomp             only jobs that may read whatever the daemon's uid can
/// Prepared once in the zygote, entered by each worker before it reads its job. Immutable.
class Sandbox {
 public:
  /// What a job may read by name.
  enum class Reach { kReadableDirectories, kWhateverTheDaemonCan };

  /// `readable`: absolute real paths. Errors: the kernel has what it takes, and refuses.
  [[nodiscard]] static Result<Sandbox> Prepare(const std::vector<std::string>& readable);

  /// Whether such a worker can open files of the readable directories itself.
  [[nodiscard]] bool OpensReadableDirectories(Reach reach) const {
    return landlock_.abi() > 0 || reach == Reach::kWhateverTheDaemonCan;
  }
  /// "landlock ABI 4 + seccomp": for the daemon's log.
  [[nodiscard]] std::string Description() const;

  // Both for this process, for ever, in this order, after no_new_privs; an error is fatal to the
  // worker.

  /// Capabilities and Landlock: while the zygote's descriptors are still open.
  [[nodiscard]] Status LimitReach(Reach reach) const;
  /// seccomp: when all else is done.
  [[nodiscard]] Status LimitCalls(Reach reach) const;

 private:
  struct Filters {
    SystemCallFilter reading;  ///< opens to read: where Landlock or nothing says what
    SystemCallFilter closed;   ///< opens nothing
  };
  Sandbox(LandlockRules landlock, std::optional<Filters> filters)
      : landlock_(std::move(landlock)), filters_(std::move(filters)) {}

  LandlockRules landlock_;
  std::optional<Filters> filters_;  ///< none: the kernel has no seccomp
};

}  // namespace cccl_cached
