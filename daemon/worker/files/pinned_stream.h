// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace cccl_cache::daemon {

/// A stream that reads these bytes where they lie; it has no descriptor. Null, with errno: no
/// memory. Null contents stand for a directory: it opens, and can't be read.
[[nodiscard]] FILE* OpenPinnedStream(std::shared_ptr<const std::string> contents);

}  // namespace cccl_cache::daemon
