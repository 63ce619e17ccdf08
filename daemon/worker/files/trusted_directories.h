// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cccl_cache::daemon {

/// The directories whose files are the toolchain's own: with all that their entries lead to, for a
/// survey of a toolchain follows each symlink, refuses what others could change, and makes the
/// bytes part of the identity. Left out, as in the survey, is what lies in a __pycache__. Not
/// thread-safe.
class TrustedDirectories {
 public:
  /// Absolute real paths.
  explicit TrustedDirectories(std::vector<std::string> directories);

  /// Whether a path lies in one of them by its letters.
  [[nodiscard]] bool Contain(std::string_view normal_path) const;

  /// Whether a path lies in one of them by its letters at each step: also before and after each
  /// ".." in it. The path is as WithoutDots makes it.
  [[nodiscard]] bool ContainAllTheWay(std::string_view path) const;

  enum class Verdict { kTrusted, kAbsent, kElsewhere };
  /// Where a directory that lies in one of them by its letters really leads: elsewhere only if
  /// ".." leaves what the survey saw. Asks the kernel once per directory: nobody but root and the
  /// daemon's uid can change them, and a job is short.
  [[nodiscard]] Verdict Judge(const std::string& directory);

 private:
  Verdict Look(const std::string& directory);
  /// Where the symlinks on the way to `directory` lead counts as seen.
  void FollowPrefixes(std::string_view directory);
  [[nodiscard]] bool Seen(std::string_view real_path) const;

  std::vector<std::string> directories_;
  std::vector<std::string> linked_;  ///< real paths elsewhere that entries led to
  std::unordered_map<std::string, Verdict> verdicts_;
};

}  // namespace cccl_cache::daemon
