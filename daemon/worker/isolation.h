// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "daemon/core/result.h"

namespace cccl_cached {

struct IsolationLimits {
  pid_t zygote = 0;         ///< dies with it
  uint64_t data_bytes = 0;  ///< RLIMIT_DATA
};

/// Takes from this process what a compile does not need: new privileges, being looked into, its
/// session, its core dumps, files and memory without bound. Any failure is fatal to the worker.
[[nodiscard]] Status Isolate(const IsolationLimits& limits);

/// Keeps no descriptor but these two, and 0, 1 and 2 led to `null_device`: what a compiler prints
/// is nobody's business. They become kJobFd and kReplyFd.
inline constexpr int kJobFd = 3;
inline constexpr int kReplyFd = 4;
[[nodiscard]] Status KeepOnly(int job, int reply, int null_device);

}  // namespace cccl_cached
