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

#include "base/files/file_stamp.h"
#include "daemon/files/path_error.h"

namespace cccl_cache::daemon {

/// The file systems that files lie on, each queried once. For one build only: the kernel reuses the
/// numbers of an unmounted file system. Not thread-safe.
class FileSystems {
 public:
  /// Returns the file system of `name` in `directory` ("": of the descriptor itself). `status` is
  /// its status.
  Reached<FileSystem> Of(int directory, const std::string& name, const struct statx& status);

 private:
  std::map<std::pair<uint64_t, uint64_t>, FileSystem> known_;  // keyed by mount and device
};

/// Places whose files no requester is given: /proc, /sys, /dev, and the daemon's own directories
/// and files. They are known by device and inode, not by name, and looked up at the first use.
/// Names may be looked up in the first three if they are mounts of their own. Not thread-safe.
class RefusedPlaces {
 public:
  /// `own` lists directories and files that are the daemon's alone. Missing ones are ignored.
  explicit RefusedPlaces(std::vector<std::string> own) : own_(std::move(own)) {}

  /// Returns whether this is a refused place or lies on the file system of /dev, even if that file
  /// system is mounted elsewhere too.
  [[nodiscard]] bool Include(const struct statx& status);
  /// Returns whether it is a directory in which no name may be looked up, so that a requester can't
  /// find out which names exist.
  [[nodiscard]] bool Close(const struct statx& directory);

 private:
  using Directories = std::set<std::pair<uint64_t, uint64_t>>;  // device and inode
  struct Known {
    Directories closed;
    Directories open;                           // names may be looked up
    std::optional<uint64_t> device_of_devices;  // of /dev, if it has its own
  };
  [[nodiscard]] const Known& GetKnown();
  [[nodiscard]] Known LookUp() const;

  const std::vector<std::string> own_;
  std::optional<Known> known_;
};

}  // namespace cccl_cache::daemon
