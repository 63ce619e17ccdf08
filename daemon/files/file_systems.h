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

/// The file systems that files lie on, each queried once. For one build: the numbers of a file
/// system are reused once it is gone. Not thread-safe.
class FileSystems {
 public:
  /// Returns the file system of `name` in `directory` ("": of the descriptor itself), whose status
  /// is known already.
  Reached<FileSystem> Of(int directory, const std::string& name, const struct statx& status);

 private:
  std::map<std::pair<uint64_t, uint64_t>, FileSystem> known_;  // keyed by mount and device
};

/// Places from which no requester is served: /proc, /sys, /dev, and the daemon's own directories
/// and files. They are known by device and inode, not by name, and looked up at the first use.
/// Names may be looked up in the first three, where they exist as file systems, but what is found
/// there is not given. Not thread-safe.
class RefusedPlaces {
 public:
  /// `own` lists directories and files that are the daemon's alone. Missing ones don't count.
  explicit RefusedPlaces(std::vector<std::string> own) : own_(std::move(own)) {}

  /// Returns whether this is such a place, or lies on the file system of /dev, even if that or
  /// a part of it is mounted elsewhere.
  [[nodiscard]] bool Include(const struct statx& status);
  /// Returns whether it is a directory in which no name may be looked up: whether one exists there
  /// is not told.
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
