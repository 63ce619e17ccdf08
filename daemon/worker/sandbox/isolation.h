// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct IsolationLimits {
  pid_t zygote = 0;            ///< the worker is killed when this process dies
  uint64_t data_bytes = 0;     ///< RLIMIT_DATA
  uint64_t address_bytes = 0;  ///< RLIMIT_AS
  bool has_pch = false;        ///< the job writes or reads a precompiled header
};

/// Takes from this process the rights that a compile does not need: to gain privileges, to be
/// inspected, its session, core dumps, and unlimited files and memory. After an error the worker
/// must exit.
[[nodiscard]] Status Isolate(const IsolationLimits& limits);

inline constexpr int kJobFd = 3;
inline constexpr int kReplyFd = 4;
inline constexpr int kFilesFd = 5;
inline constexpr int kPchFd = 6;

struct KeptDescriptors {
  int job = -1;
  int reply = -1;
  int files = -1;  ///< -1: the job has none
  int pch = -1;    ///< -1: the job has none
  int null_device = -1;
};

/// Keeps only these descriptors, as kJobFd, kReplyFd, kFilesFd and kPchFd. Descriptors 0, 1 and 2
/// become the null device, which drops the compiler's output.
[[nodiscard]] Status KeepOnly(const KeptDescriptors& kept);

}  // namespace cccl_cache::daemon
