// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// Returns an absolute path without "." and "//" and without a slash at its end. ".." is kept, for
/// only the kernel knows where it leads. "/" stays.
[[nodiscard]] std::string WithoutDots(std::string_view path);

/// Returns whether a normal path lies in a place that a worker never reads, even through links:
/// /proc, /sys, and /dev without the files in shared memory.
[[nodiscard]] inline bool IsNeverRead(std::string_view path) {
  return LiesIn(path, "/proc") || LiesIn(path, "/sys") ||
         (LiesIn(path, "/dev") && !LiesIn(path, "/dev/shm"));
}

/// Normalizes an absolute path by its text alone: ".." removes the component before it.
[[nodiscard]] std::string LexicallyNormal(std::string_view path);

/// The meaning of the names that a compiler uses in one job. Constant after construction.
class VisiblePaths {
 public:
  explicit VisiblePaths(const WorkerJob& job);

  /// The place of a name that can't exist.
  struct Nowhere {};
  /// A directory that exists because the job names it, even if the disk has none.
  struct Directory {
    std::string target;  ///< the real one, or empty
    uint64_t inode = 0;  ///< made up; equal for equal targets
  };
  /// A path in the toolchain or outside of it. ".." is not resolved.
  struct Path {
    std::string path;
    std::string visible;   ///< as the compiler sees it
    bool made_up = false;  ///< a name that the compiler made up for a text in memory
    std::string mount;     ///< the visible mount of the job that holds it; empty: none
  };
  using Place = std::variant<Nowhere, Directory, Path>;

  /// Returns the place of a name, which is absolute or relative to the visible working directory.
  [[nodiscard]] Place Find(std::string_view name) const;

  /// Returns the name made absolute, still as the compiler sees it.
  [[nodiscard]] std::string Absolute(std::string_view name) const;

  [[nodiscard]] const std::string& working_directory() const { return working_directory_; }

 private:
  struct Entry {
    std::string visible;
    std::string target;
  };

  void AddMadeUpName(std::string_view name);
  [[nodiscard]] const Entry* Longest(std::string_view path) const;

  std::string working_directory_;  ///< visible
  std::vector<Entry> mounts_;
  std::unordered_set<std::string> made_up_;  ///< absolute
};

/// The directories whose files are the toolchain's own, together with the targets of their
/// symlinks. A survey of a toolchain follows each symlink, refuses files that others could change,
/// and makes the bytes part of the toolchain's id. Like the survey, it skips the contents of a
/// __pycache__. Not thread-safe.
class TrustedDirectories {
 public:
  /// `directories`: absolute real paths.
  explicit TrustedDirectories(std::vector<std::string> directories);

  /// Returns whether a path, by its text, lies in one of the directories.
  [[nodiscard]] bool Contain(std::string_view normal_path) const;

  /// Returns whether a path, by its text, lies in one of the directories at each step: also before
  /// and after each ".." in it. The path is the result of WithoutDots.
  [[nodiscard]] bool ContainAllTheWay(std::string_view path) const;

  enum class Verdict { kTrusted, kAbsent, kElsewhere };
  /// Returns where a directory really lies whose path, by its text, is in a trusted one. It is
  /// "elsewhere" only if ".." leads out of the paths that the survey saw. The kernel is asked once
  /// per directory: only root and the daemon's uid can change it while the job runs.
  [[nodiscard]] Verdict Judge(const std::string& directory);

 private:
  Verdict Look(const std::string& directory);
  /// Follows the symlinks on the way to `directory` and records their targets.
  void FollowPrefixes(std::string_view directory);
  [[nodiscard]] bool Seen(std::string_view real_path) const;

  std::vector<std::string> directories_;
  std::vector<std::string> linked_;  ///< real paths outside to which symlinks led
  std::unordered_map<std::string, Verdict> verdicts_;
};

}  // namespace cccl_cache::daemon
