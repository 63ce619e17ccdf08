// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
/// Thread-safe as far as its store and compiler are.
class CapabilityProbe {
 public:
  CapabilityProbe(MetaStore& meta, Compiler& compiler) : meta_(meta), compiler_(compiler) {}

  /// `toolchain` must have an NVRTC. The error says why this NVRTC can't be used: the worker died,
  /// or it does not even compile an empty program.
  Result<Capabilities> Probe(const ToolchainPtr& toolchain, const std::stop_token& stop);

 private:
  /// Returns what an earlier probe stored.
  [[nodiscard]] std::optional<Capabilities> Stored(const std::string& nvrtc) const;
  /// Compiles an empty program with this option, which may be empty.
  Result<CompileOutput> Compile(const ToolchainPtr& toolchain, const std::string& option,
                                const std::stop_token& stop);

  MetaStore& meta_;
  Compiler& compiler_;
};

}  // namespace cccl_cache::daemon
