// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cccl_cache::daemon {

/// Of the daemon, as its users read it. Decides nothing.
[[nodiscard]] std::string_view Version();

}  // namespace cccl_cache::daemon
