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

/// Returns an absolute path without "." and "//", and without a slash at its end except for "/".
/// Keeps "..", because only the kernel knows where it leads.
[[nodiscard]] std::string WithoutDots(std::string_view path);

/// Returns whether a normalized path lies in a directory from which a worker never reads a file,
/// not even through a symlink: /proc, /sys, or /dev except /dev/shm.
[[nodiscard]] inline bool IsNeverRead(std::string_view path) {
  return LiesIn(path, "/proc") || LiesIn(path, "/sys") ||
         (LiesIn(path, "/dev") && !LiesIn(path, "/dev/shm"));
}

/// Normalizes an absolute path without access to the disk: ".." removes the component before it.
[[nodiscard]] std::string LexicallyNormal(std::string_view path);

/// Maps the names that a compiler uses in one job to paths. Immutable.
class VisiblePaths {
 public:
  explicit VisiblePaths(const WorkerJob& job);

  /// The result for a name that can't exist.
  struct Nowhere {};
  /// A mount point of the job, or "/". It exists for the compiler even if the disk has no such
  /// directory.
  struct Directory {
    std::string target;  ///< real path, or empty
    uint64_t inode = 0;  ///< made up; equal for mounts of the same target
  };
  /// A path in the toolchain or outside of it. It may contain "..".
  struct Path {
    std::string path;
    std::string visible;   ///< the path in the compiler's spelling
    bool made_up = false;  ///< whether the compiler made up the name, for a text in memory
    std::string mount;     ///< mount point that contains the name; empty: none
  };
  using Place = std::variant<Nowhere, Directory, Path>;

  /// Returns the meaning of a name. The name is absolute, or relative to the working directory that
  /// the compiler sees.
  [[nodiscard]] Place Find(std::string_view name) const;

  /// Returns the absolute path for a name, in the compiler's spelling.
  [[nodiscard]] std::string Absolute(std::string_view name) const;

  [[nodiscard]] const std::string& working_directory() const { return working_directory_; }

 private:
  struct Entry {
    std::string visible;
    std::string target;
  };

  void AddMadeUpName(std::string_view name);
  [[nodiscard]] const Entry* Longest(std::string_view path) const;

  std::string working_directory_;  ///< in the compiler's spelling
  std::vector<Entry> mounts_;
  std::unordered_set<std::string> made_up_;  ///< absolute paths
};

/// The directories whose files belong to the toolchain, including the targets of symlinks in them.
/// The survey of a toolchain follows each symlink, refuses files that other users can change, and
/// includes the contents in the toolchain's id. Like the survey, this class skips the contents of
/// directories named __pycache__. Not thread-safe.
class TrustedDirectories {
 public:
  /// `directories`: absolute real paths.
  explicit TrustedDirectories(std::vector<std::string> directories);

  /// Returns whether one of the directories contains this normalized path. Symlinks are not
  /// followed.
  [[nodiscard]] bool Contain(std::string_view normal_path) const;

  /// Returns whether one of the directories contains the path and, for each ".." in it, also the
  /// paths before and after this "..". Symlinks are not followed. `path` is a result of
  /// WithoutDots.
  [[nodiscard]] bool ContainAllTheWay(std::string_view path) const;

  enum class Verdict { kTrusted, kAbsent, kElsewhere };
  /// Returns whether a directory really lies where its path says. Its path, without symlinks
  /// followed, is in a trusted directory. kElsewhere: ".." behind a symlink leads to a directory
  /// that the survey did not see. Each directory is opened once and the verdict kept: only root and
  /// the daemon's user can change it during the job.
  [[nodiscard]] Verdict Judge(const std::string& directory);

 private:
  Verdict Look(const std::string& directory);
  /// Calls Judge for the path before the first ".." and for its parents, so that linked_ has the
  /// targets of symlinks among them.
  void FollowPrefixes(std::string_view directory);
  [[nodiscard]] bool Seen(std::string_view real_path) const;

  std::vector<std::string> directories_;
  std::vector<std::string> linked_;  ///< real paths of symlink targets outside the directories
  std::unordered_map<std::string, Verdict> verdicts_;
};

}  // namespace cccl_cache::daemon
