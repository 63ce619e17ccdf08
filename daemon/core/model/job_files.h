// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What a name outside the toolchain is for one job.
struct FileAnswer {
  FileKind kind = FileKind::kAbsent;
  /// Not 0 if something is there: the same for two names if and only if they are one inode, and the
  /// same again when the same job runs elsewhere. Compilers see it as the inode number. The
  /// program's and the working directory have one of their own each, without being looked at.
  uint64_t identity = 0;
  std::shared_ptr<const std::string> contents;  ///< of a file
};

/// Answers what the compiler of one job asks for, and records what it answered: that record is the
/// closure, whatever the worker says. The worker opens the toolchain's own headers by itself, once
/// it has said so: bytes that could take it over are on record before it reads them.
class JobFiles {
 public:
  virtual ~JobFiles() = default;

  /// `name`: absolute, as the compiler sees it, without "." and "//", ".." as it was written. The
  /// same name always has the same answer. An error is the end of the job: it fails with it. Blocks
  /// as long as the disk does; one call at a time.
  virtual Result<FileAnswer> Ask(std::string_view name) = 0;
  /// The compiler is about to look at what lies under a name in the toolchain's trusted
  /// directories, or below it, and may do so once this has returned. Waits for no disk.
  virtual Status LookInToolchain(std::string_view name) = 0;
};

}  // namespace cccl_cache::daemon
