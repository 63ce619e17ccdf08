// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cccl_cached {

/// The directories whose files are the toolchain's own. Not thread-safe.
class TrustedDirectories {
 public:
  /// Absolute real paths.
  explicit TrustedDirectories(std::vector<std::string> directories);

  /// Whether a path lies in one of them by its letters.
  [[nodiscard]] bool Contain(std::string_view normal_path) const;

  enum class Verdict { kTrusted, kAbsent, kElsewhere };
  /// Where a directory that lies in one of them by its letters really leads. Asks the kernel once
  /// per directory: nobody but root and the daemon's uid can change them, and a job is short.
  [[nodiscard]] Verdict Judge(const std::string& directory);

 private:
  std::vector<std::string> directories_;
  std::unordered_map<std::string, Verdict> verdicts_;
};

}  // namespace cccl_cached
