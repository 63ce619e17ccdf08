// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cccl_cache::daemon {

/// Why no toolchain was found in a place that a person named: it is missing, this process may not
/// enter or read it, or it holds none. With the way out.
[[nodiscard]] std::string WhyNothingFound(const std::string& place);

}  // namespace cccl_cache::daemon
