// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache {

/// "; did you mean X?" for the candidate that `name` was most likely meant to be; empty if none is
/// near.
[[nodiscard]] std::string DidYouMean(std::string_view name,
                                     std::span<const std::string> candidates);

}  // namespace cccl_cache
