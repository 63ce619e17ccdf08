// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/core/build/coordinator.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Whether the compiler would read or write files by itself, for which a daemon refuses it.
[[nodiscard]] bool NeedsPlainCompile(const cccl_cache::BuildRequest& request);

/// Calls the compiler in this process as the client itself would: with the client's names, options
/// and working directory, and with the file system as it is. So the compiler reads and writes what
/// its options say, as this user. The answer has no key and no fingerprint. Once in a process: it
/// leaves the working directory and the compiler behind. An input that the
/// compiler dies of ends the process.
[[nodiscard]] Result<BuildAnswer> CompilePlainly(
    std::shared_ptr<const cccl_cache::BuildRequest> request, ToolchainPtr toolchain);

}  // namespace cccl_cache::daemon
