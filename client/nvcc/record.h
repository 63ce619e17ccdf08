// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

// The memory into which libcccl_cache_record.so writes, and which cccl-cache-nvcc reads. This
// header uses no C++ runtime, because the library is linked without one.

namespace cccl_cache::nvcc {

/// The environment variable with the path of the file that holds the records.
inline constexpr char kRecordVariable[] = "CCCL_CACHE_NVCC_RECORD";
/// The size of that file. It is sparse. Further records are lost, and the run is not kept.
inline constexpr uint64_t kRecordBytes = uint64_t{256} << 20;

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
};

/// One record. It is followed by `size` bytes of text, and by padding up to the next multiple of 8.
struct Record {
  std::atomic<uint32_t> written;  ///< 1 once the record is complete
  uint32_t size;
  RecordKind kind;
  int32_t error;  ///< errno of a failed call, or 0
};

/// The beginning of the file. The records follow.
struct RecordHead {
  std::atomic<uint64_t> used;  ///< number of bytes that records have claimed, also beyond the end
  std::atomic<uint32_t> lost;  ///< 1 if a record could not be written
  uint32_t reserved;
};

inline constexpr uint64_t SizeOfRecord(uint64_t text) {
  return (sizeof(Record) + text + 7) / 8 * 8;
}

}  // namespace cccl_cache::nvcc
