// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"
#include "daemon/worker/compilers/nvjitlink_library.h"
#include "daemon/worker/compilers/nvrtc_library.h"
#include "daemon/worker/compilers/nvvm_library.h"

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

}  // namespace cccl_cache::daemon
