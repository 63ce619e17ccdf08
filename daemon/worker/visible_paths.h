// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "daemon/compile/job.h"

namespace cccl_cached {

/// Where the names that a compiler uses in one job really lie. Constant after construction.
class VisiblePaths {
 public:
  /// How the mounts that are not trusted, and the working directory, are to be taken: as where they
  /// really lie, or as names that only the daemon knows about.
  enum class Outside { kLooksUp, kAsks };
  VisiblePaths(const WorkerJob& job, Outside outside);

  /// The name can't exist: it is one of those that the compiler makes up for texts that it has in
  /// memory, or its directory lies nowhere.
  struct Nowhere {};
  /// A directory that is there because the job says so, whatever the disk says.
  struct Directory {
    std::string target;  ///< the real one, or empty
    uint64_t inode = 0;  ///< made up; equal for equal targets
  };
  /// A path to be looked up, or to be asked for; ".." is left to the kernel.
  struct Path {
    std::string path;
    std::string visible;  ///< as the compiler sees it
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
    std::string target;  ///< empty: nowhere
    bool asked = false;  ///< its names mean something to the daemon alone
  };

  void AddMadeUpName(std::string_view name);
  [[nodiscard]] const Entry* Longest(std::string_view path) const;

  std::string working_directory_;            ///< visible
  std::vector<Entry> entries_;               ///< mounts, then the working directory
  std::unordered_set<std::string> parents_;  ///< of all visible directories
  std::unordered_set<std::string> made_up_;  ///< absolute
};

}  // namespace cccl_cached
