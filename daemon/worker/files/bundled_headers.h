// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The headers that NVRTC's own library contains, in memory. The compiler sees them below
/// kBundledDirectory. The zygote unpacks them once, and workers inherit them. Immutable.
class BundledHeaders {
 public:
  /// Reads all files below a directory.
  [[nodiscard]] static Result<BundledHeaders> Read(const std::string& directory);

  /// Returns whether a normalized path is kBundledDirectory or lies below it.
  [[nodiscard]] static bool Own(std::string_view path);
  /// Returns the file or directory of this path, for which Own() is true.
  [[nodiscard]] FileAnswer Find(std::string_view path) const;

 private:
  std::map<std::string, FileAnswer, std::less<>> files_;  // by the path below the directory
};

}  // namespace cccl_cache::daemon
