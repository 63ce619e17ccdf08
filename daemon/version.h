// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cccl_cache::daemon {

/// Returns the daemon's version, for users to read. Decides nothing.
[[nodiscard]] std::string_view Version();

}  // namespace cccl_cache::daemon
