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

/// The metadata of a file that change when its contents change, if StampsProve() returns true for
/// it. The ctime is included because programs can set the mtime back. Only stamps of one boot of
/// the machine can be compared.
struct ContentStamp {
  uint64_t mount = 0;  ///< mount id; not reused since Linux 6.8; 0 before Linux 5.8
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  auto operator<=>(const ContentStamp&) const = default;

  static ContentStamp Of(const struct statx& status);

  /// Returns whether every change of the file after `now_ns` gives it another stamp. This is true
  /// once the clock of the file system has advanced since the file's last change. All times are in
  /// nanoseconds. For a file, `write_back_ns` is the result of KernelWriteBack(): a store through a
  /// memory mapping changes the stamp only when the kernel writes the page back. For a directory it
  /// is 0, because directories can't be mapped.
  [[nodiscard]] bool IsSettledAt(int64_t now_ns, int64_t write_back_ns = 0) const;
};

struct ContentStampHash {
  size_t operator()(const ContentStamp& stamp) const;
};

enum class FileSystem : uint8_t {
  /// The change time is not set by this kernel but by another host, a program or the maker of an
  /// image: NFS, FUSE, squashfs, erofs. Also a file system whose mount id may be reused later.
  kOther,
  kDisk,     ///< on a disk; this kernel sets the change time
  kMemory,   ///< in memory: stores through a mapping never change the stamp of a file
  kOverlay,  ///< an overlay, whose lower layers must not change while it is mounted
  /// proc, sysfs and other file systems whose files the kernel generates, at any mount point.
  kKernel,
};

/// Returns the kind of the file system of a file with this status.
[[nodiscard]] FileSystem KindOf(const struct statfs& system, const struct statx& status);

/// Returns whether an unchanged stamp, if it was settled (IsSettledAt), proves that the contents of
/// this file, or the names in this directory, are unchanged.
[[nodiscard]] bool StampsProve(FileSystem system, const struct statx& status);

/// Returns the longest time in nanoseconds until the kernel writes a changed page to the disk.
/// Returns none if periodic write-back is off, so that there is no limit. `directory` has the
/// kernel's settings. For a setting that can't be read, the kernel's default is assumed.
[[nodiscard]] std::optional<int64_t> KernelWriteBack(const std::string& directory = "/proc/sys/vm");

/// Returns the current time, in nanoseconds, of the coarse clock with which the kernel stamps
/// files. Since Linux 6.13, a stamp may be some milliseconds ahead of it.
[[nodiscard]] int64_t FileTimeNow();

/// STATX_DIOALIGN, which headers before Linux 6.1 don't have.
inline constexpr unsigned kStatxDirectIo = 0x2000;
/// STATX_MNT_ID_UNIQUE, which headers before Linux 6.8 don't have.
inline constexpr unsigned kStatxUniqueMount = 0x4000;

/// Reads the status of the file `name` in `directory`; for a symlink, the status of the link
/// itself. If `name` is empty, reads the status of the open file `directory`. Returns 0 or an errno
/// value.
[[nodiscard]] int StatusAt(int directory, const std::string& name, struct statx* status);

/// Returns the device number, which statx reports in two halves.
[[nodiscard]] uint64_t DeviceOf(const struct statx& status);

/// Reads stamps that are stored for later processes. An object should live for a short time only,
/// because it remembers file systems by numbers that are reused after an unmount. Not thread-safe.
class StampReader {
 public:
  struct Stamp {
    ContentStamp stamp;
    /// Whether the contents are unchanged as long as the stamp is, within this boot.
    bool proves = false;
  };

  StampReader();

  /// Returns the stamp of an open file. None if its status can't be read.
  [[nodiscard]] std::optional<Stamp> Of(int file);
  /// Returns the stamp of the file at a path; of a symlink, that of the link itself.
  [[nodiscard]] std::optional<Stamp> At(const std::string& path);
  /// Like At above, for a file whose status was read with StatusAt().
  [[nodiscard]] std::optional<Stamp> At(const std::string& path, const struct statx& status);

  /// Returns the stamp and the id of the current boot as digits, letters a to f, blanks and dashes.
  /// Different stamps give different texts, and so do equal stamps of different boots.
  [[nodiscard]] std::string TextOf(const ContentStamp& stamp) const;

 private:
  [[nodiscard]] Stamp Judge(FileSystem system, const struct statx& status) const;
  /// Returns the kind of the file's file system; none if it is not in `known_` yet.
  [[nodiscard]] std::optional<FileSystem> Known(const struct statx& status) const;

  const std::string boot_;  ///< the kernel's id of this boot; if it is empty, no stamp proves
                            ///< anything
  const std::optional<int64_t> write_back_ns_;
  std::map<std::pair<uint64_t, uint64_t>, FileSystem> known_;  ///< keyed by mount and device
};

}  // namespace cccl_cache
