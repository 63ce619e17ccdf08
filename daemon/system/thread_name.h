// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace cccl_cache::daemon {

/// Names the calling thread for debuggers, `top -H` and `perf`. The kernel ignores a name of more
/// than 15 characters. docs/architecture.md lists the names.
inline void NameThread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace cccl_cache::daemon
