// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// A file for the bytes that a client sends, until all have arrived. It belongs to the daemon and
/// has no name, so nothing is left of it however the daemon ends. Not thread-safe.
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

/// Compresses with zstd, which the rest of the snapshot code does not use. One version of zstd
/// makes the same output of the same input. kUnavailable: no memory.
[[nodiscard]] Result<std::string> Compress(std::string_view bytes);

/// Returns none unless `stored` is one whole compressed frame of exactly `bytes` bytes, which the
/// caller has bounded. `stored` is untrusted.
[[nodiscard]] std::optional<std::string> Decompress(std::string_view stored, uint64_t bytes);

}  // namespace cccl_cache::daemon
