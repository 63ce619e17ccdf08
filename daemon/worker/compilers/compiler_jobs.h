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

/// The loaded compilers of a toolchain. Members are empty where the toolchain lacks one.
struct CompilerLibraries {
  std::optional<NvrtcLibrary> nvrtc;
  std::optional<NvJitLinkLibrary> nvjitlink;
  std::optional<NvvmLibrary> nvvm;
  std::string libdevice;  ///< the file's bytes

  /// Loads the libraries. The error names the file that failed.
  [[nodiscard]] static Result<CompilerLibraries> Load(const ZygoteHello& hello);
};

/// Each function does one job with the same calls, in the same order, as a client that calls the
/// library itself. A failure of the library is a reply. Memory that the library allocated is left
/// to the end of the process.
[[nodiscard]] WorkerReply RunNvrtcJob(const WorkerJob& job, const NvrtcLibrary& nvrtc,
                                      PchUse pch = PchUse::kNone);
[[nodiscard]] WorkerReply RunLinkJob(const WorkerJob& job, const NvJitLinkLibrary& nvjitlink);
[[nodiscard]] WorkerReply RunNvvmJob(const WorkerJob& job, const NvvmLibrary& nvvm,
                                     const std::string& libdevice);

/// Runs the function for the job's kind. If the toolchain lacks that library, the reply says so:
/// the daemon chose the toolchain, so that is its internal error.
[[nodiscard]] WorkerReply RunCompilerJob(const WorkerJob& job, const CompilerLibraries& libraries,
                                         PchUse pch);

}  // namespace cccl_cache::daemon
