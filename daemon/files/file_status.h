// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <string>

namespace cccl_cache::daemon {

/// STATX_DIOALIGN, which headers before Linux 6.1 don't have.
inline constexpr unsigned kStatxDirectIo = 0x2000;

/// What the kernel says of `name` in `directory`, a symlink's own status for a symlink; "" is the
/// descriptor itself. 0 or the errno.
[[nodiscard]] int StatusAt(int directory, const std::string& name, struct statx* status);

/// Device numbers are told in two halves.
[[nodiscard]] uint64_t DeviceOf(const struct statx& status);

}  // namespace cccl_cache::daemon
