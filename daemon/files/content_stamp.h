// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstddef>
#include <cstdint>

namespace cccl_cached {

/// What changes when a file's contents change, where the local kernel sets the time of change
/// (FileSystem::kLocal): mtime can be set back, ctime cannot. Only compared within one run of the
/// daemon.
struct ContentStamp {
  uint64_t mount = 0;  ///< 0 before Linux 5.8, which does not tell
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  auto operator<=>(const ContentStamp&) const = default;

  static ContentStamp Of(const struct statx& status);

  /// Whether any change after `now_ns` gives another stamp: the file's time has moved on since its
  /// last change.
  [[nodiscard]] bool IsSettledAt(int64_t now_ns) const;
};

struct ContentStampHash {
  size_t operator()(const ContentStamp& stamp) const;
};

/// The clock that stamps files.
[[nodiscard]] int64_t FileTimeNow();

}  // namespace cccl_cached
