// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cccl_cache::daemon {

/// The metadata that change when a file's contents change, if the local kernel sets the change time
/// (IsLocal): mtime can be set back, ctime cannot. Stamps are compared only within one run of the
/// daemon.
struct ContentStamp {
  uint64_t mount = 0;  ///< 0 before Linux 5.8, which does not report it
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  auto operator<=>(const ContentStamp&) const = default;

  static ContentStamp Of(const struct statx& status);

  /// Returns whether any change after `now_ns` gives another stamp: the file's clock has moved on
  /// since its last change. For a file, `write_back_ns` is the time that KernelWriteBack returns.
  /// Stores through a mapping change no stamp until the page that the first of them dirtied is
  /// written back. Directories can't be mapped.
  [[nodiscard]] bool IsSettledAt(int64_t now_ns, int64_t write_back_ns = 0) const;
};

struct ContentStampHash {
  size_t operator()(const ContentStamp& stamp) const;
};

/// Returns how long in nanoseconds the kernel leaves a changed page unwritten. None: without limit
/// (periodic write-back is turned off). `directory` holds the kernel's settings; a setting that
/// can't be read has its default.
[[nodiscard]] std::optional<int64_t> KernelWriteBack(const std::string& directory = "/proc/sys/vm");

/// Returns the time of the clock that stamps files.
[[nodiscard]] int64_t FileTimeNow();

/// STATX_DIOALIGN, which headers before Linux 6.1 don't have.
inline constexpr unsigned kStatxDirectIo = 0x2000;

/// Reads the status of `name` in `directory`, of the symlink itself if it is one; "" is the
/// descriptor itself. Returns 0 or the errno.
[[nodiscard]] int StatusAt(int directory, const std::string& name, struct statx* status);

/// Returns the device number, which statx reports in two halves.
[[nodiscard]] uint64_t DeviceOf(const struct statx& status);

}  // namespace cccl_cache::daemon
