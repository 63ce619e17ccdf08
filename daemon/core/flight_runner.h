// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "daemon/core/build_plan.h"
#include "daemon/core/compiler.h"
#include "daemon/core/statistics.h"
#include "daemon/core/tier.h"
#include "daemon/core/toolchain.h"

namespace cccl_cached {

/// What one flight came to, before it is told to each waiter.
struct Landing {
  std::optional<Error> error;  ///< otherwise output counts
  CompileOutput output;
  std::string uncacheable_reason;   ///< empty: may be kept
  TierName tier = TierName::kNone;  ///< where the leader found it when it looked once more
  bool looked_outside = false;      ///< only those with the same view may have it
  bool toolchain_changed = false;   ///< before or during the compile
  bool shows_paths = false;         ///< wants a plan under the real paths
  std::chrono::steady_clock::time_point started;
  std::chrono::microseconds compile_time{0};

  /// The plan was made on grounds that no longer hold.
  [[nodiscard]] bool start_again() const { return toolchain_changed || shows_paths; }
  [[nodiscard]] bool keepable() const {
    return uncacheable_reason.empty() && !error && !start_again() && tier == TierName::kNone;
  }
};

/// Runs a flight's compile and judges what it means for the cache. Thread-safe.
class FlightRunner {
 public:
  /// The references must outlive the runner.
  FlightRunner(Toolchains& toolchains, Compiler& compiler, Statistics& statistics,
               const CompileLimits& limits)
      : toolchains_(toolchains), compiler_(compiler), statistics_(statistics), limits_(limits) {}

  /// Blocks until the compile has ended. A worker that dies is tried once more, in what is left of
  /// the time: it may have been the machine's fault.
  [[nodiscard]] Landing Run(const BuildPlan& plan, std::stop_token stop);

 private:
  Result<CompileOutput> CompileWithRetry(const CompileJob& job, std::stop_token stop);
  void Count(const Result<CompileOutput>& output);

  Toolchains& toolchains_;
  Compiler& compiler_;
  Statistics& statistics_;
  const CompileLimits limits_;
};

}  // namespace cccl_cached
