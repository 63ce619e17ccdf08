// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/compile/worker_compiler.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// The NVRTC of CUDA 13 in a worker, without the toolkit's headers.
class RealNvrtc {
 public:
  /// Fails the test if CUDA 13 is not installed.
  RealNvrtc();

  /// Returns a job in /cccl-root-0 with these options.
  [[nodiscard]] CompileJob Job(const std::string& source, std::vector<std::string> options) const;
  Result<CompileOutput> Compile(const CompileJob& job) {
    return compiler_.Compile(job, CompileLimits{}, {});
  }
  Result<std::shared_ptr<const Precompiled>> Precompile(const CompileJob& job) {
    return compiler_.Precompile(job, CompileLimits{}, {});
  }

 private:
  ToolchainPtr toolchain_;
  WorkerCompiler compiler_;
};

}  // namespace cccl_cache::daemon
