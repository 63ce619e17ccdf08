// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "daemon/core/model/file_descriptor.h"

namespace cccl_cache::daemon {

/// Fills an empty file in memory. A descriptor of it, at its beginning, when it holds these bytes
/// and can't be changed; -errno: there is none, -EFBIG: more than this process may write.
[[nodiscard]] int OpenInMemory(FileDescriptor memory, std::string_view contents);

}  // namespace cccl_cache::daemon
