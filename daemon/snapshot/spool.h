// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// A file for the bytes of a client until all have arrived. It has no name, so the disk space is
/// freed when the daemon ends, even by a crash. Not thread-safe.
class SpoolFile {
 public:
  /// `directory` is private to the daemon.
  [[nodiscard]] static Result<SpoolFile> Create(const std::string& directory);

  /// kUnavailable: the disk refuses the write.
  Status Append(std::string_view bytes);
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  explicit SpoolFile(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace cccl_cache::daemon
