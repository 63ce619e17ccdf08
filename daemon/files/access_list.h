// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache::daemon {

/// Whether a file or directory has a POSIX access list, which may keep out users whom its mode lets
/// in. `fd` may be an O_PATH one. True also where that can't be found out.
[[nodiscard]] bool HasAccessList(int fd);

}  // namespace cccl_cache::daemon
