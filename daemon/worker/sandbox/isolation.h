// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct IsolationLimits {
  pid_t zygote = 0;            ///< dies with it
  uint64_t data_bytes = 0;     ///< RLIMIT_DATA
  uint64_t address_bytes = 0;  ///< RLIMIT_AS
  bool has_pch = false;        ///< a precompiled header, to write or to read
};

/// Takes from this process what a compile does not need: new privileges, being looked into, its
/// session, its core dumps, files and memory without bound. Any failure is fatal to the worker.
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

/// Keeps no descriptor but these, as kJobFd, kReplyFd, kFilesFd and kPchFd. 0, 1 and 2 are led to
/// the null device: what a compiler prints is nobody's business.
[[nodiscard]] Status KeepOnly(const KeptDescriptors& kept);

}  // namespace cccl_cache::daemon
