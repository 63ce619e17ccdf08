// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cccl_cache {

/// Returns the kernel's id of this boot of the node, as the kernel spells it. Empty if it is
/// unknown.
[[nodiscard]] std::string BootId();

}  // namespace cccl_cache
