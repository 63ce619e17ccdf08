// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/vfs.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cccl_cache {

/// The metadata that change when a file's contents change, where stamps prove anything
/// (StampsProve): mtime can be set back, ctime cannot. Stamps are compared within one boot of the
/// machine.
struct ContentStamp {
  uint64_t mount = 0;  ///< unique since Linux 6.8; 0 before 5.8, which does not report it
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  auto operator<=>(const ContentStamp&) const = default;

  static ContentStamp Of(const struct statx& status);

  /// Returns whether any change after `now_ns` gives another stamp: the file's clock has advanced
  /// since its last change. For a file, `write_back_ns` is the time that KernelWriteBack returns.
  /// Stores through a mapping change no stamp until the page that the first of them dirtied is
  /// written back. Directories can't be mapped.
  [[nodiscard]] bool IsSettledAt(int64_t now_ns, int64_t write_back_ns = 0) const;
};

struct ContentStampHash {
  size_t operator()(const ContentStamp& stamp) const;
};

enum class FileSystem : uint8_t {
  /// Another host, a program or the maker of an image sets the change time: NFS, FUSE, squashfs,
  /// erofs. Also a mount that another may follow with the same number.
  kOther,
  kDisk,     ///< on a disk, by this kernel, which sets the change time
  kMemory,   ///< the same without write-back: the stamp of a mapped file proves nothing
  kOverlay,  ///< an overlay, whose lower layers must not change while it is mounted
  /// The kernel's own: proc, sysfs and the like, wherever they are mounted.
  kKernel,
};

/// Returns the kind of the file system of a file with this status.
[[nodiscard]] FileSystem KindOf(const struct statfs& system, const struct statx& status);

/// Returns whether an unchanged stamp of the file or directory, once it is settled, proves
/// unchanged contents or names.
[[nodiscard]] bool StampsProve(FileSystem system, const struct statx& status);

/// Returns how long in nanoseconds the kernel leaves a changed page unwritten. None: without limit
/// (periodic write-back is turned off). `directory` holds the kernel's settings; a setting that
/// can't be read has its default.
[[nodiscard]] std::optional<int64_t> KernelWriteBack(const std::string& directory = "/proc/sys/vm");

/// Returns the time of the clock that stamps files.
[[nodiscard]] int64_t FileTimeNow();

/// STATX_DIOALIGN, which headers before Linux 6.1 don't have.
inline constexpr unsigned kStatxDirectIo = 0x2000;
/// STATX_MNT_ID_UNIQUE, which headers before Linux 6.8 don't have.
inline constexpr unsigned kStatxUniqueMount = 0x4000;

/// Reads the status of `name` in `directory`, of the symlink itself if it is one; "" is the
/// descriptor itself. Returns 0 or the errno.
[[nodiscard]] int StatusAt(int directory, const std::string& name, struct statx* status);

/// Returns the device number, which statx reports in two halves.
[[nodiscard]] uint64_t DeviceOf(const struct statx& status);

/// Reads stamps that are kept beyond this process. Not thread-safe; for one moment, because the
/// number of a file system is used again once it is gone.
class StampReader {
 public:
  struct Stamp {
    ContentStamp stamp;
    /// While the stamp stays the same in this boot, so do the contents.
    bool proves = false;
  };

  StampReader();

  /// Returns the stamp of an open file. None: it has no status.
  [[nodiscard]] std::optional<Stamp> Of(int file);
  /// Returns the stamp of the file at a path, of the symlink itself if it is one.
  [[nodiscard]] std::optional<Stamp> At(const std::string& path);
  /// The same for a file with a known status (StatusAt).
  [[nodiscard]] std::optional<Stamp> At(const std::string& path, const struct statx& status);

  /// Returns a text of digits, blanks and dashes that differs for other stamps, and after the
  /// machine was booted.
  [[nodiscard]] std::string TextOf(const ContentStamp& stamp) const;

 private:
  [[nodiscard]] Stamp Judge(FileSystem system, const struct statx& status) const;
  /// Returns none if it is not known yet.
  [[nodiscard]] std::optional<FileSystem> Known(const struct statx& status) const;

  const std::string boot_;  ///< the kernel's id of this boot; empty: not known, so nothing proves
  const std::optional<int64_t> write_back_ns_;
  std::map<std::pair<uint64_t, uint64_t>, FileSystem> known_;  ///< keyed by mount and device
};

}  // namespace cccl_cache
