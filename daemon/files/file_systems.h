// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/files/path_error.h"

namespace cccl_cache::daemon {

enum class FileSystem : uint8_t {
  kOther,
  kDisk,    ///< of this kernel's, which sets the time of change
  kMemory,  ///< the same without write-back: the stamp of a file that is mapped proves nothing
  /// Over one of the two. What lies below must not change while it is mounted, and the rest is the
  /// kernel's.
  kOverlay,
  /// The kernel's own: proc, sysfs and their kin, wherever they are mounted.
  kKernel,
};

/// Whether the local kernel sets the time of change there.
[[nodiscard]] inline bool IsLocal(FileSystem system) {
  return system == FileSystem::kDisk || system == FileSystem::kMemory ||
         system == FileSystem::kOverlay;
}
/// Whether what is stored into a mapping of the file is written back, which changes its stamp.
[[nodiscard]] bool IsWrittenBack(FileSystem system, const struct statx& file);

/// Which file systems files lie on, asked once each. For one build: the numbers of a file system
/// are given to others once it is gone. Not thread-safe.
class FileSystems {
 public:
  /// Of `name` in `directory` ("": of the descriptor itself), whose status is known already.
  Reached<FileSystem> Of(int directory, const std::string& name, const struct statx& status);

 private:
  std::map<std::pair<uint64_t, uint64_t>, FileSystem> known_;  // by mount and device
};

/// Directories that nobody is served from: /proc, /sys, /dev and the daemon's own, known by what
/// they are, not by name. Looks them up when first asked. Not thread-safe.
class RefusedPlaces {
 public:
  /// `own`: directories that are the daemon's alone. Those that do not exist don't count.
  explicit RefusedPlaces(std::vector<std::string> own) : own_(std::move(own)) {}

  /// Whether this is such a directory, or lies on the file system of /dev (also where that, or a
  /// part of it, is mounted elsewhere).
  [[nodiscard]] bool Include(const struct statx& status);

 private:
  struct Known {
    std::set<std::pair<uint64_t, uint64_t>> directories;  // device and inode
    std::optional<uint64_t> device_of_devices;            // /dev's, if it has one of its own
  };
  [[nodiscard]] Known LookUp() const;

  const std::vector<std::string> own_;
  std::optional<Known> known_;
};

}  // namespace cccl_cache::daemon
