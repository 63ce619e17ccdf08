// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cccl_cache::daemon {

/// Whether something was there before it was inserted.
enum class Inserted : uint8_t { kNow, kBefore };

}  // namespace cccl_cache::daemon
