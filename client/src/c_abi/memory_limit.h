// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cccl_cache/expected.h"

namespace cccl_cache {

/// How many bytes of answers a client keeps whose program asked for `given`
/// (cccl_cache_open_options); 0: none. CCCL_CACHE_INVALID_REQUEST: the environment says something
/// that is no number.
Expected<uint64_t> MemoryLimit(uint64_t given);

}  // namespace cccl_cache
