// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "daemon/compile/protocol/job.h"

namespace cccl_cache::daemon {

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

}  // namespace cccl_cache::daemon
