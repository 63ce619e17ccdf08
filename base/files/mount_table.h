// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cccl_cache {

/// One line of the kernel's mount table (/proc/PID/mountinfo), with all escapes decoded.
struct MountEntry {
  std::string id;      ///< the mount id, as statx returns it (STATX_MNT_ID)
  std::string parent;  ///< the id of the parent mount
  std::string device;  ///< "major:minor" of the device of the file system
  std::string root;    ///< path in the file system of the directory or file that is mounted
  std::string point;   ///< the path at which it is mounted

  bool operator==(const MountEntry&) const = default;
};

/// Reads the mount table from the beginning of an open file. Returns none if it can't be read.
[[nodiscard]] std::optional<std::vector<MountEntry>> ReadMountTable(int table);

}  // namespace cccl_cache
