// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cccl_cache {

/// Returns advice for a build that failed, for example which option of NVRTC is missing. The advice
/// is derived from the log of NVRTC or nvJitLink. Returns an empty text if the log needs no
/// explanation. All clients show the same advice. Thread-safe.
[[nodiscard]] std::string_view HintFor(std::string_view log);

}  // namespace cccl_cache
