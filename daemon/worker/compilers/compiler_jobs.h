// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/result.h"
#include "daemon/worker/compilers/nvjitlink.h"
#include "daemon/worker/compilers/nvrtc.h"
#include "daemon/worker/compilers/nvvm.h"

namespace cccl_cache::daemon {

/// The compilers of a toolchain, loaded. What the toolchain lacks is empty.
struct CompilerLibraries {
  std::optional<NvrtcLibrary> nvrtc;
  std::optional<NvJitLinkLibrary> nvjitlink;
  std::optional<NvvmLibrary> nvvm;
  std::string libdevice;  ///< the file's bytes

  /// The error names the file.
  [[nodiscard]] static Result<CompilerLibraries> Load(const ZygoteHello& hello);
};

/// Each does one job as a client would that calls the library itself: the same calls in the same
/// order. A failure of the library is a reply. What the library allocated is left to the end of the
/// process.
[[nodiscard]] WorkerReply RunNvrtcJob(const WorkerJob& job, const NvrtcLibrary& nvrtc,
                                      PchUse pch = PchUse::kNone);
[[nodiscard]] WorkerReply RunLinkJob(const WorkerJob& job, const NvJitLinkLibrary& nvjitlink);
[[nodiscard]] WorkerReply RunNvvmJob(const WorkerJob& job, const NvvmLibrary& nvvm,
                                     const std::string& libdevice);

/// The one that the job's kind asks for. A toolchain without that library is an internal error of
/// the daemon, which chose it: the reply says so.
[[nodiscard]] WorkerReply RunCompilerJob(const WorkerJob& job, const CompilerLibraries& libraries,
                                         PchUse pch);

}  // namespace cccl_cache::daemon
