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

/// Finds the file systems of files, and queries each file system once. Each build needs its own
/// object, because the kernel reuses the numbers of an unmounted file system. Not thread-safe.
class FileSystems {
 public:
  /// Returns the file system of `name` in `directory`, or of the descriptor `directory` itself if
  /// `name` is empty. `status` is the status of that file.
  Reached<FileSystem> Of(int directory, const std::string& name, const struct statx& status);

 private:
  std::map<std::pair<uint64_t, uint64_t>, FileSystem> known_;  // keyed by mount and device
};

/// The places whose files are given to no requester: /proc, /sys, /dev, and the daemon's own
/// directories and files. A place is recognised by device and inode, which the class reads for all
/// places at its first use. If /proc, /sys or /dev is a mount of its own, a path may lead through
/// it, but no file in it is given. Not thread-safe.
class RefusedPlaces {
 public:
  /// `own` lists the directories and files that only the daemon may use. Missing ones are ignored.
  explicit RefusedPlaces(std::vector<std::string> own) : own_(std::move(own)) {}

  /// Returns whether the file with this status is a refused place or is on the file system of /dev.
  /// That file system may also be mounted elsewhere.
  [[nodiscard]] bool Include(const struct statx& status);
  /// Returns whether no name may be looked up in this directory, so that a requester can't find out
  /// which names exist.
  [[nodiscard]] bool Close(const struct statx& directory);

 private:
  using Directories = std::set<std::pair<uint64_t, uint64_t>>;  // device and inode
  struct Known {
    Directories closed;
    Directories open;                           // directories in which names may be looked up
    std::optional<uint64_t> device_of_devices;  // of /dev, if it is a mount of its own
  };
  [[nodiscard]] const Known& GetKnown();
  [[nodiscard]] Known LookUp() const;

  const std::vector<std::string> own_;
  std::optional<Known> known_;
};

}  // namespace cccl_cache::daemon
