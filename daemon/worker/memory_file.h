// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cccl_cached {

/// A descriptor of a file in memory that holds these bytes and can't be changed; -errno: there is
/// none, -EFBIG: more than this process may write.
[[nodiscard]] int OpenInMemory(std::string_view contents);

}  // namespace cccl_cached
