// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache {

/// The cccl-cache-compile that belongs to this library: installed with it, beside it, or built with
/// it. `named`: that one instead, unless empty. CCCL_CACHE_UNAVAILABLE says where it was looked
/// for.
[[nodiscard]] Expected<std::string> FindLocalCompiler(const std::string& named);

}  // namespace cccl_cache
