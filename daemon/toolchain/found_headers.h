// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/layout.h"

namespace cccl_cache::daemon {

/// At most so many other spellings of one header directory are known.
inline constexpr size_t kMaxAliases = 32;

/// The header directories of a layout that hold CUDA's headers of this major (or CCCL's, which tell
/// no major), in search order, with all spellings that the layout and the symlinks to its root
/// give.
[[nodiscard]] std::vector<HeaderDirectory> FindHeaders(const Layout& layout, int major);

/// Adds a spelling unless it is there, is the path itself, or there are enough.
void AddAlias(HeaderDirectory& headers, const std::string& alias);

}  // namespace cccl_cache::daemon
