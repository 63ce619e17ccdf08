// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cccl_cache {

/// Returns advice on NVRTC's options for CUDA C++ that did not compile, derived from NVRTC's log.
/// Empty if the log is enough. The same for all clients. Thread-safe.
[[nodiscard]] std::string_view HintFor(std::string_view log);

}  // namespace cccl_cache
