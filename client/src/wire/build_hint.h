// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cccl_cache {

/// Returns what may mend CUDA C++ that did not compile, in words of NVRTC's options, by what NVRTC
/// said; empty if its words say it. For every client, so that all say the same. Thread-safe.
[[nodiscard]] std::string_view HintFor(std::string_view log);

}  // namespace cccl_cache
