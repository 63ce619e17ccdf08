// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cccl_cache::daemon {

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
