// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct IsolationLimits {
  pid_t zygote = 0;            ///< parent; when it dies, the kernel kills the worker
  uint64_t data_bytes = 0;     ///< RLIMIT_DATA
  uint64_t address_bytes = 0;  ///< RLIMIT_AS
  bool has_pch = false;        ///< the job writes or reads a precompiled header
};

/// Restricts this process to the rights that a compile needs. It can't gain privileges, is not
/// dumpable, leaves its session, and has limits of memory, file sizes, threads and descriptors. If
/// this fails, the worker must exit.
[[nodiscard]] Status Isolate(const IsolationLimits& limits);

inline constexpr int kJobFd = 3;
inline constexpr int kReplyFd = 4;
inline constexpr int kFilesFd = 5;
inline constexpr int kPchFd = 6;

struct KeptDescriptors {
  int job = -1;
  int reply = -1;
  int files = -1;  ///< -1: the job has no files socket
  int pch = -1;    ///< -1: the job has no precompiled header
  int null_device = -1;
};

/// Moves these descriptors to the numbers kJobFd, kReplyFd, kFilesFd and kPchFd, and closes all
/// others. Descriptors 0, 1 and 2 become the null device, so that output of the compiler is
/// discarded.
[[nodiscard]] Status KeepOnly(const KeptDescriptors& kept);

}  // namespace cccl_cache::daemon
