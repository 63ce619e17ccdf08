// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon {

/// A configuration file in a temporary directory.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) : path_(directory_.Write("config.toml", text)) {}

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const TemporaryDirectory directory_;
  const std::string path_;
};

}  // namespace cccl_cache::daemon
