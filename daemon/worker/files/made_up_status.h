// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>

/// What stat says of things that a compiler sees elsewhere than where they lie, or that it must not
/// see as they are: the same on every machine and at any time.
namespace cccl_cache::daemon::made_up_status {

/// One that is there because the job says so. The inode tells it from others of its kind.
[[nodiscard]] struct stat Directory(uint64_t inode);

/// One outside the toolchain, and a file there: the identity tells them from all others outside.
[[nodiscard]] struct stat OutsideDirectory(uint64_t identity);
[[nodiscard]] struct stat File(uint64_t identity, uint64_t size);

}  // namespace cccl_cache::daemon::made_up_status
