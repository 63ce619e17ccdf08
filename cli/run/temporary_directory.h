// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// A new directory for this user alone. The destructor removes it.
class TemporaryDirectory {
 public:
  /// Creates the directory in $TMPDIR, or in /tmp if that is not possible. Its path has at most
  /// `longest` characters. Fails if neither is possible.
  [[nodiscard]] static Expected<TemporaryDirectory> Make(size_t longest = std::string::npos);
  TemporaryDirectory(TemporaryDirectory&&) = default;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;  ///< empty after a move
};

}  // namespace cccl_cache::cli
