// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache::daemon {

/// Goes up with each addition to the protocol that a client may ask for
/// (BuildRequest.min_api_minor).
inline constexpr uint32_t kApiMinor = 0;

}  // namespace cccl_cache::daemon
