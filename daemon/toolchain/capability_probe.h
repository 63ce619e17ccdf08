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

/// Finds out which options and architectures an NVRTC accepts. Compiles an empty program with each
/// option. The results are stored, so that each NVRTC is probed only once:
///
///   name  = "toolchain/probe/1/" hex(id of the NVRTC)
///   value = one '0' or '1' each for random_seed, no_cache, pch
///
///   name  = "toolchain/architectures/1/" hex(id of the NVRTC)
///   value = the architectures in decimal, each followed by a space
///
/// After a compile that took too long, for example on a machine under load, the next attempt waits
/// for `try_again`, because each attempt delays the scan for toolchains. Not thread-safe.
class CapabilityProbe {
 public:
  /// `try_again` is the minimum time from a compile that took too long to the next attempt.
  CapabilityProbe(MetaStore& meta, Compiler& compiler, std::chrono::milliseconds try_again)
      : meta_(meta), compiler_(compiler), try_again_(try_again) {}

  /// Returns the capabilities of the toolchain's NVRTC, which must exist. The error says why the
  /// NVRTC can't be used: the worker died, or NVRTC can't compile even an empty program.
  Result<Capabilities> Probe(const ToolchainPtr& toolchain, const std::stop_token& stop);

 private:
  /// Returns the result of an earlier probe of this NVRTC. Returns none if there is none.
  [[nodiscard]] std::optional<Capabilities> Stored(const std::string& nvrtc) const;
  /// Compiles an empty program with this option, or without options if `option` is empty.
  Result<CompileOutput> Compile(const ToolchainPtr& toolchain, const std::string& option,
                                const std::stop_token& stop);

  using Clock = std::chrono::steady_clock;

  MetaStore& meta_;
  Compiler& compiler_;
  const std::chrono::milliseconds try_again_;
  std::map<std::string, Clock::time_point> late_;  ///< by id of the NVRTC: when a compile took too
                                                   ///< long
};

}  // namespace cccl_cache::daemon
