// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "proto/request.h"

namespace cccl_cache::daemon {

/// What a link input is, told from its first bytes; kUnspecified if they say nothing.
[[nodiscard]] cccl_cache::LinkInputType LinkInputTypeOf(std::string_view contents);

}  // namespace cccl_cache::daemon
