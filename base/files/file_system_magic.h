// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/magic.h>

#include <cstdint>

namespace cccl_cache {

// Numbers of file systems (statfs::f_type) that linux/magic.h lacks, at least in older versions.
// The users are KindOf() (base/files/file_stamp.h) and the search for toolchains.
inline constexpr uint32_t kBtrfsMagic = 0x9123683e;
inline constexpr uint32_t kXfsMagic = 0x58465342;
inline constexpr uint32_t kZfsMagic = 0x2fc12fc1;
inline constexpr uint32_t kF2fsMagic = 0xf2f52010;
inline constexpr uint32_t kBcachefsMagic = 0xca451a4e;
inline constexpr uint32_t kErofsMagic = 0xe0f5e1e2;
inline constexpr uint32_t kConfigfsMagic = 0x62656570;
inline constexpr uint32_t kMqueueMagic = 0x19800202;
inline constexpr uint32_t kFuseControlMagic = 0x65735543;

}  // namespace cccl_cache
