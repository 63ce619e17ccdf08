// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cccl_cache::interpose {

// The libraries that the loader's variables name.
inline constexpr char kAuditor[] = "libcccl_cache_audit.so";  ///< in LD_AUDIT
inline constexpr char kExec[] = "libcccl_cache_exec.so";      ///< in LD_PRELOAD
/// In LD_PRELOAD of containers. The auditor has the loader map kExec in its place.
inline constexpr char kPlaceholder[] = "libcccl_cache_placeholder.so";

}  // namespace cccl_cache::interpose
