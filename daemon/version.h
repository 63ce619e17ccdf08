// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cccl_cache::daemon {

/// Returns the daemon's version for messages to users. No code may depend on it.
[[nodiscard]] std::string_view Version();

}  // namespace cccl_cache::daemon
