// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grp.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cccl_cache {

/// Returns the gid of the group with this name on this machine; none if there is no such group.
/// Thread-safe.
[[nodiscard]] inline std::optional<gid_t> GroupNamed(const std::string& name) {
  constexpr size_t kMaxBytes = size_t{1} << 28;
  group entry = {};
  group* found = nullptr;
  // getgrnam_r() needs a buffer for the names of all members of the group.
  std::vector<char> buffer(1 << 16);
  while (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < kMaxBytes) {
    buffer.resize(2 * buffer.size());
  }
  return found == nullptr ? std::nullopt : std::optional(found->gr_gid);
}

}  // namespace cccl_cache
