// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cccl_cache::daemon {

/// How long each list of a request may be: options, name expressions, environment, inputs, modules.
/// No artifact has more lowered names.
inline constexpr size_t kMaxListed = 4'096;

}  // namespace cccl_cache::daemon
