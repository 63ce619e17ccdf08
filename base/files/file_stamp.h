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

/// The metadata that change when a file's contents change, on file systems for which StampsProve is
/// true. The ctime is part of it because mtime can be set back. Stamps are compared within one boot
/// of the machine.
struct ContentStamp {
  uint64_t mount = 0;  ///< unique since Linux 6.8; 0 before 5.8, which has no mount ids
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  auto operator<=>(const ContentStamp&) const = default;

  static ContentStamp Of(const struct statx& status);

  /// Returns whether any change after `now_ns` gives another stamp. That is so once the file's
  /// clock has advanced since its last change. For a file, `write_back_ns` is the result of
  /// KernelWriteBack: stores through a mapping change no stamp until the page that the first store
  /// dirtied is written back. Directories can't be mapped.
  [[nodiscard]] bool IsSettledAt(int64_t now_ns, int64_t write_back_ns = 0) const;
};

struct ContentStampHash {
  size_t operator()(const ContentStamp& stamp) const;
};

enum class FileSystem : uint8_t {
  /// Another host, a program or the maker of an image sets the change time: NFS, FUSE, squashfs,
  /// erofs. Also a mount whose number a later mount may reuse.
  kOther,
  kDisk,     ///< on a disk; this kernel sets the change time
  kMemory,   ///< as kDisk, but without write-back, so the stamp of a mapped file proves nothing
  kOverlay,  ///< an overlay, whose lower layers must not change while it is mounted
  /// proc, sysfs and other file systems of the kernel, at any mount point.
  kKernel,
};

/// Returns the kind of the file system of a file with this status.
[[nodiscard]] FileSystem KindOf(const struct statfs& system, const struct statx& status);

/// Returns whether an unchanged, settled stamp proves that a file's contents, or a directory's
/// names, are unchanged.
[[nodiscard]] bool StampsProve(FileSystem system, const struct statx& status);

/// Returns the longest time, in nanoseconds, that the kernel leaves a changed page unwritten. None
/// if there is no limit because periodic write-back is off. `directory` holds the kernel's
/// settings; an unreadable setting has its default.
[[nodiscard]] std::optional<int64_t> KernelWriteBack(const std::string& directory = "/proc/sys/vm");

/// Returns the time of the clock that stamps files.
[[nodiscard]] int64_t FileTimeNow();

/// STATX_DIOALIGN, which headers before Linux 6.1 don't have.
inline constexpr unsigned kStatxDirectIo = 0x2000;
/// STATX_MNT_ID_UNIQUE, which headers before Linux 6.8 don't have.
inline constexpr unsigned kStatxUniqueMount = 0x4000;

/// Reads the status of `name` in `directory`; of a symlink, the status of the link itself. An empty
/// name stands for the descriptor itself. Returns 0 or the errno.
[[nodiscard]] int StatusAt(int directory, const std::string& name, struct statx* status);

/// Returns the device number, which statx reports in two halves.
[[nodiscard]] uint64_t DeviceOf(const struct statx& status);

/// Reads stamps that outlive this process. Not thread-safe. Used for a short time only, because the
/// number of an unmounted file system is reused.
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
  /// The same for a file with a known status (StatusAt).
  [[nodiscard]] std::optional<Stamp> At(const std::string& path, const struct statx& status);

  /// Returns a text of digits, blanks and dashes. It differs for different stamps and after each
  /// boot of the machine.
  [[nodiscard]] std::string TextOf(const ContentStamp& stamp) const;

 private:
  [[nodiscard]] Stamp Judge(FileSystem system, const struct statx& status) const;
  /// Returns none if the file system is not in `known_` yet.
  [[nodiscard]] std::optional<FileSystem> Known(const struct statx& status) const;

  const std::string boot_;  ///< the kernel's id of this boot; empty if unknown, and then no stamp
                            ///< proves anything
  const std::optional<int64_t> write_back_ns_;
  std::map<std::pair<uint64_t, uint64_t>, FileSystem> known_;  ///< keyed by mount and device
};

}  // namespace cccl_cache
