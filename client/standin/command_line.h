// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/standin/tool.h"

namespace cccl_cache::standin {

/// The words of a command line; the first one is the program's name.
using Words = std::vector<std::string>;

/// A run of a tool that reads one file and writes one file.
struct Assembly {
  std::string name;  ///< name by which the tool was called, which the output shows
  std::string input;
  std::string output;
  /// All other words in their order, each with a NUL after it.
  std::string options;
  /// The output shows the input's path and the working directory.
  bool shows_paths = false;
};

/// Returns none unless the meaning of each word is known and both files are named.
[[nodiscard]] std::optional<Assembly> ReadAssembly(const Tool& tool, const Words& words);

/// Returns whether the words ask for the tool's version and for nothing else.
[[nodiscard]] bool AsksForVersion(const Words& words);

/// The variables that change a tool's output or make it write more files.
struct Environment {
  /// The variables that are part of the key, sorted, each with a NUL after it.
  std::string part_of_key;
  /// A variable is set with which the tool writes files that are not known here.
  bool writes_more = false;
};
[[nodiscard]] Environment ReadEnvironment(const Tool& tool, const char* const* variables);

}  // namespace cccl_cache::standin
