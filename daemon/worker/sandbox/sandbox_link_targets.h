// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace cccl_cache::daemon {

/// The directories and, as real paths, all that symlinks in them lead to elsewhere: some
/// installations of a toolchain are made of links. What /proc, /sys and /dev hold is left out.
[[nodiscard]] std::vector<std::string> WithLinkTargets(std::vector<std::string> directories);

}  // namespace cccl_cache::daemon
