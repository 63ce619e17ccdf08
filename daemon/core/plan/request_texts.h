// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/core/model/result.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The options that the compiler goes by: the request's own, then those that NVRTC takes from the
/// environment.
[[nodiscard]] std::vector<std::string> OptionsOf(const cccl_cache::BuildRequest& request);

/// kInvalidRequest names the text that NVRTC would not read to its end.
[[nodiscard]] Status CheckTexts(const cccl_cache::BuildRequest& request);

}  // namespace cccl_cache::daemon
