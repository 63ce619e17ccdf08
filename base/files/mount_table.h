// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cccl_cache {

/// A line of the kernel's table of mounts (/proc/PID/mountinfo), without escapes.
struct MountEntry {
  std::string id;      ///< as in statx (STATX_MNT_ID)
  std::string parent;  ///< the id of the parent mount
  std::string device;  ///< "major:minor" of the file system
  std::string root;    ///< the directory or file in the file system that is mounted
  std::string point;   ///< the path at which it is mounted

  bool operator==(const MountEntry&) const = default;
};

/// Returns the mounts in the open table, read from its beginning; none if it can't be read.
[[nodiscard]] std::optional<std::vector<MountEntry>> ReadMountTable(int table);

}  // namespace cccl_cache
