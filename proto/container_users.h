// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache {

/// Numbers from this one on are not uids. They stand for the users of containers
/// (docs/internals/protocol.md).
inline constexpr uint32_t kFirstContainerUser = 0x80000000;

}  // namespace cccl_cache
