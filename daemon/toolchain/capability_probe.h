// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// Finds out which options and architectures an NVRTC accepts by compiling an empty program with
/// each option, once in the life of the store:
///
///   name  = "toolchain/probe/1/" hex(id of the NVRTC)
///   value = one '0' or '1' each for random_seed, no_cache, pch
///
///   name  = "toolchain/architectures/1/" hex(id of the NVRTC)
///   value = the architectures in decimal, each followed by a space
///
/// After a compile that took too long, as on a machine under load, the probe waits before it tries
/// again, because it delays the scan. Not thread-safe.
class CapabilityProbe {
 public:
  /// `try_again`: shortest time from a compile that took too long to the next attempt.
  CapabilityProbe(MetaStore& meta, Compiler& compiler, std::chrono::milliseconds try_again)
      : meta_(meta), compiler_(compiler), try_again_(try_again) {}

  /// `toolchain` must have an NVRTC. The error says why this NVRTC can't be used: the worker died,
  /// or it can't compile even an empty program.
  Result<Capabilities> Probe(const ToolchainPtr& toolchain, const std::stop_token& stop);

 private:
  /// Returns what an earlier probe stored.
  [[nodiscard]] std::optional<Capabilities> Stored(const std::string& nvrtc) const;
  /// Compiles an empty program with this option; "": without one.
  Result<CompileOutput> Compile(const ToolchainPtr& toolchain, const std::string& option,
                                const std::stop_token& stop);

  using Clock = std::chrono::steady_clock;

  MetaStore& meta_;
  Compiler& compiler_;
  const std::chrono::milliseconds try_again_;
  std::map<std::string, Clock::time_point> late_;  ///< by id of the NVRTC: the time of a compile
                                                   ///< that took too long
};

}  // namespace cccl_cache::daemon
