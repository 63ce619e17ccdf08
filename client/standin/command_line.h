// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/standin/fresh_directory.h"
#include "client/standin/temporary_name.h"
#include "client/standin/tool.h"

namespace cccl_cache::standin {

/// A run of a tool. Paths of files are as in the command line.
struct ToolRun {
  const Tool* tool;                  ///< not null
  std::string name;                  ///< file name in the command, which appears in messages
  std::vector<std::string> inputs;   ///< in the order of the command line; at least one
  std::vector<std::string> outputs;  ///< in the order of the command line; at least one
  /// All other words in their order. Each word is followed by a NUL.
  std::string options;
  /// The paths that the output contains, each followed by a NUL. If there are any, it may contain
  /// the working directory, too.
  std::string shown_paths;
  std::optional<size_t> module_id;  ///< index of the output with the module id that the run makes
  bool links_device_code = false;   ///< whether the id is part of names that nvlink sees
  /// In `options` and `shown_paths`, its placeholder is in its place.
  TemporaryName temporary_name;
  /// The directory of a file that the first input, a PTX text, names. Stored texts have its
  /// placeholder in its place, and so has the digest of the input.
  std::optional<FreshDirectory> fresh;

  /// Puts placeholders in place of names, and names in place of placeholders. Returns none if that
  /// is not possible.
  [[nodiscard]] std::optional<std::string> Hide(std::string text) const;
  [[nodiscard]] std::optional<std::string> Show(std::string text) const;
};

/// Parses a command line. Returns none if a word's meaning is not known, an input or output file is
/// missing, or a word contains the placeholder for temporary names.
[[nodiscard]] std::optional<ToolRun> ReadToolRun(const Tool& tool, const Words& words);

/// Returns whether the command line only asks for the tool's version.
[[nodiscard]] bool AsksForVersion(const Words& words);

/// The environment variables that change a tool's output or make it write additional files.
struct Environment {
  /// The variables that are part of the cache key, sorted, each as NAME=VALUE with a NUL after it.
  std::string part_of_key;
  /// Whether a variable is set that makes the tool write additional files, which can't be cached.
  bool writes_more = false;
};
[[nodiscard]] Environment ReadEnvironment(const Tool& tool, const char* const* variables);

}  // namespace cccl_cache::standin
