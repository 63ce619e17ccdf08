// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// A temporary file for what a client sends, until all of it has arrived. The file has no name, so
/// its disk space is freed even if the daemon crashes. Not thread-safe.
class SpoolFile {
 public:
  /// Other users must not be able to write the directory.
  [[nodiscard]] static Result<SpoolFile> Create(const std::string& directory);

  /// Appends the bytes to the file. kUnavailable: the disk is full or fails.
  Status Append(std::string_view bytes);
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  explicit SpoolFile(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace cccl_cache::daemon
