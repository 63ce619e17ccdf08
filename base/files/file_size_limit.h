// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace cccl_cache {

/// Returns whether the resource limit of this process (`ulimit -f`) allows a file of this size. A
/// write beyond the limit would end the process by SIGXFSZ, so code in foreign programs must ask
/// first.
[[nodiscard]] inline bool MayMakeFile(uint64_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes <= limit.rlim_cur;
}

}  // namespace cccl_cache
