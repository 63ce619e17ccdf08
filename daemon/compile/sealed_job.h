// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The encoded job in a memfd that nobody can change any more. kUnavailable: there is no memory for
/// it.
[[nodiscard]] Result<FileDescriptor> SealJob(const CompileJob& job);

}  // namespace cccl_cache::daemon
