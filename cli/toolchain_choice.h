// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/client.h"

namespace cccl_cache::cli {

/// Understands --toolchain: a major ("13"), a version ("12.9"), or an id or its beginning (at least
/// 8 hexadecimal digits). Empty leaves the choice to the daemon. CCCL_CACHE_INVALID_REQUEST for
/// anything else.
[[nodiscard]] Expected<Done> ChooseToolchain(const std::string& spec, BuildOptions* options);

}  // namespace cccl_cache::cli
