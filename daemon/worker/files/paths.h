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

namespace cccl_cache::daemon {

/// An absolute path without "." and "//" and without a slash at its end; ".." is kept, for only the
/// kernel knows where it leads. "/" stays.
[[nodiscard]] std::string WithoutDots(std::string_view path);

/// An absolute path as its letters say: ".." takes the component before it away.
[[nodiscard]] std::string LexicallyNormal(std::string_view path);

/// What the names that a compiler uses in one job mean. Constant after construction.
class VisiblePaths {
 public:
  explicit VisiblePaths(const WorkerJob& job);

  /// The name can't exist.
  struct Nowhere {};
  /// A directory that is there because the job says so, whatever the disk says.
  struct Directory {
    std::string target;  ///< the real one, or empty
    uint64_t inode = 0;  ///< made up; equal for equal targets
  };
  /// A path to be looked up if it is the toolchain's, and to be asked for if not; ".." is left to
  /// whoever does that.
  struct Path {
    std::string path;
    std::string visible;   ///< as the compiler sees it
    bool made_up = false;  ///< the compiler's own name of a text that it has in memory
    std::string mount;     ///< the visible directory of the job's that it lies in; empty: none
  };
  using Place = std::variant<Nowhere, Directory, Path>;

  /// `name` as the compiler gave it, absolute or relative to the visible working directory.
  [[nodiscard]] Place Find(std::string_view name) const;

  /// The name made absolute, still as the compiler sees it.
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
