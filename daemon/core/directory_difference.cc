// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/directory_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cached {
namespace {

// Where only one of them depends on its paths, something else that differs made it so.
bool BothShowPaths(const PastBuild& was, const PastBuild& is) {
  return was.path_dependent && is.path_dependent;
}

// What follows the working directory in the path; none of what lies elsewhere.
std::optional<std::string_view> BelowWorkingDirectory(const PastBuild& build,
                                                      std::string_view path) {
  const std::string_view working = build.working_directory;
  if (working.empty() || !path.starts_with(working)) return std::nullopt;
  const std::string_view rest = path.substr(working.size());
  if (!rest.empty() && !rest.starts_with('/')) return std::nullopt;
  return rest;
}

bool SamePlace(const PastBuild& was, const SearchDirectory& old, const PastBuild& is,
               const SearchDirectory& now) {
  if (old.path == now.path) return true;
  const auto below = BelowWorkingDirectory(was, old.path);
  return below && below == BelowWorkingDirectory(is, now.path);
}

}  // namespace

std::vector<Difference> DirectoryDifferences(const PastBuild& was, const PastBuild& is) {
  std::vector<Difference> differences;
  const size_t count = std::max(was.directories.size(), is.directories.size());
  const bool show_paths = BothShowPaths(was, is);
  const SearchDirectory none;
  for (size_t i = 0; i < count; ++i) {
    const SearchDirectory& old = i < was.directories.size() ? was.directories[i] : none;
    const SearchDirectory& now = i < is.directories.size() ? is.directories[i] : none;
    if (old.meaning != now.meaning) {
      differences.push_back(
          {DifferenceField::kDirectory, fmt::format("number {}", i), old.shown, now.shown});
    } else if (show_paths && !SamePlace(was, old, is, now)) {
      differences.push_back(
          {DifferenceField::kDirectory, fmt::format("number {}", i), old.path, now.path});
    }
  }
  if (show_paths && was.working_directory != is.working_directory) {
    differences.push_back({DifferenceField::kDirectory, "the working directory",
                           was.working_directory, is.working_directory});
  }
  return differences;
}

}  // namespace cccl_cached
