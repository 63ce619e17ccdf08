// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache {

/// The number of a group, given by its name on this machine or as a number.
/// CCCL_CACHE_INVALID_REQUEST: there is no such group.
[[nodiscard]] Expected<uint32_t> FindGroup(const std::string& name);

}  // namespace cccl_cache
