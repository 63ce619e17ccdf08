// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/compile/worker_compiler.h"
#include "daemon/core/model/compiler.h"
#include "tests/support/fake_toolchain/fake_toolkit.h"

namespace cccl_cache::daemon {

/// The real cccl-cached-worker with a private copy of the fake toolchain.
class CompileFixture {
 public:
  explicit CompileFixture(ZygoteOptions options = {}, int major = 13);

  [[nodiscard]] CompileJob NvrtcJob(const std::string& source,
                                    std::vector<std::string> options = {"-arch=sm_90"}) const;
  [[nodiscard]] CompileJob LinkJob(const std::string& input) const;
  [[nodiscard]] CompileJob NvvmJob(const std::string& module) const;
  /// Compiles one NVRTC job that is never cancelled.
  Result<CompileOutput> Compile(const std::string& source, CompileLimits limits = SmallLimits());
  /// Returns limits of one minute and 256 MiB.
  [[nodiscard]] static CompileLimits SmallLimits();
  /// Returns the lines that `compiler` has reported.
  [[nodiscard]] std::vector<std::string> reports() const;

  std::unique_ptr<fake_toolchain::FakeToolkit> toolkit;
  ToolchainPtr toolchain;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> reports_;  ///< guarded by mutex_

 public:
  WorkerCompiler compiler;  ///< last member: it reports lines until it is destroyed
};

/// Returns the part's bytes; empty if there is no such part.
[[nodiscard]] std::string PartOf(const Result<CompileOutput>& output,
                                 cccl_cache::ArtifactKind kind);

/// Returns the direct children of a process, by default of this one.
[[nodiscard]] std::vector<pid_t> ChildrenOf(pid_t pid = 0);
/// Returns a zygote's children that have a job. They lead a session; a spare worker does not.
[[nodiscard]] std::vector<pid_t> WorkersOf(pid_t zygote);
/// Waits until the process has exactly this many children. Returns false after a minute.
[[nodiscard]] bool WaitForChildren(pid_t pid, size_t count);
/// Returns the number of open descriptors of a process, by default of this one.
[[nodiscard]] size_t OpenDescriptors(pid_t pid = 0);

}  // namespace cccl_cache::daemon
