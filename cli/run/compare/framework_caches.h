// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cccl_cache::cli {

/// A directory in which a framework keeps what it compiled. A program compiles nothing that is
/// there.
struct FrameworkCache {
  std::string framework;
  std::string variable;  ///< environment variable that names another directory
  std::string directory;
  size_t entries = 0;  ///< files and directories in it, at most 100,000
};

/// Returns the directories of known frameworks for programs with this environment, also of those
/// that do not exist.
[[nodiscard]] std::vector<FrameworkCache> FrameworkCaches();

}  // namespace cccl_cache::cli
