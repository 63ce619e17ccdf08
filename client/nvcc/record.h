// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>

// The memory into which libcccl_cache_record.so writes, and which cccl-cache-nvcc reads. This
// header uses no C++ runtime, because the library is linked without one.

namespace cccl_cache::nvcc {

/// The environment variable with the token and the path of the file that holds the records:
/// "TOKEN:PATH", with the token in decimal. The file has no link in a directory.
inline constexpr char kRecordVariable[] = "CCCL_CACHE_NVCC_RECORD";
/// The size of that file. It is sparse. Further records are lost, and the run is not kept.
inline constexpr uint64_t kRecordBytes = uint64_t{256} << 20;

/// The ends of the names of the temporary files that kText is about: the preprocessed text, and the
/// module id.
inline constexpr char kPreprocessed[] = ".ii";
inline constexpr char kModuleId[] = ".module_id";

enum class RecordKind : uint8_t {
  kBegin,       ///< a program with the recorder has started; the text is its path
  kExec,        ///< this process is about to become another program
  kExecFailed,  ///< it did not
  kStart,       ///< this process has started a child process that is another program
  kLook,        ///< a name was looked up; `error` says whether it was found
  kResolve,     ///< the text is a name, a NUL, and what realpath() or readlink() returned for it
  kList,        ///< the names in a directory were read
  kMake,        ///< a file or directory was created, or a file's former contents were dropped
  kChange,      ///< a file was changed, and parts of its former state remain
  kRemove,      ///< a file or directory was removed
  kLost,        ///< the text is the name of a function whose call can't be recorded
  kText,        ///< the text is a name, a NUL, and the contents of the file, which will be removed
};

/// Shows that a name led to the same file twice. All zero: not known.
struct FileIdentity {
  uint64_t device;
  uint64_t inode;
  int64_t changed_ns;  ///< time of the last change of the file's status

  auto operator<=>(const FileIdentity&) const = default;
};

/// Returns the identity from a status as stat() returns it. It ignores the time of a directory,
/// which any new name changes.
template <typename Status>
FileIdentity IdentityOf(const Status& status) {
  const bool is_directory = (status.st_mode & 0170000) == 0040000;
  const int64_t changed_ns = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  return {status.st_dev, status.st_ino, is_directory ? 0 : changed_ns};
}

/// One record. It is followed by `size` bytes of text, and by padding up to the next multiple of 8.
struct Record {
  std::atomic<uint32_t> written;  ///< 1 once the record is complete
  uint32_t size;
  int32_t error;  ///< errno of a failed call, or 0
  /// The process that made the call. Of kStart: the child process, or 0 if it is not known.
  int32_t process;
  FileIdentity identity;  ///< of the file that kBegin or kLook found
  RecordKind kind;
  uint8_t reserved[7];
};

/// The beginning of the file. The records follow.
struct RecordHead {
  std::atomic<uint64_t> used;  ///< number of bytes that records have claimed, also beyond the end
  std::atomic<uint32_t> lost;  ///< 1 if a record could not be written
  uint32_t keeps_texts;        ///< whether kText is recorded
  uint64_t token;              ///< a random number, which is also in the environment variable
};

inline constexpr uint64_t SizeOfRecord(uint64_t text) {
  return (sizeof(Record) + text + 7) / 8 * 8;
}

}  // namespace cccl_cache::nvcc
