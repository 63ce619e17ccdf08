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

/// What a client sends, on the disk until all of it is there: a file of ours that has no name, so
/// nothing of it is left however the daemon ends. Not thread-safe.
class SpoolFile {
 public:
  /// `directory`: the daemon's own.
  [[nodiscard]] static Result<SpoolFile> Create(const std::string& directory);

  /// kUnavailable: the disk refuses.
  Status Append(std::string_view bytes);
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  explicit SpoolFile(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

/// zstd, which nothing else of snapshots knows. One version of it makes the same bytes of the same.
/// kUnavailable: it gets no memory.
[[nodiscard]] Result<std::string> Compress(std::string_view bytes);

/// None unless `stored` is one whole compression of exactly `bytes` bytes, which the caller has
/// bounded. `stored` may come from anybody.
[[nodiscard]] std::optional<std::string> Decompress(std::string_view stored, uint64_t bytes);

}  // namespace cccl_cache::daemon
