// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/standin/tool.h"

namespace cccl_cache::standin {

/// The words of a command line. The first word is the program's name.
using Words = std::vector<std::string>;

/// A run of a tool that reads one file and writes one file.
struct Assembly {
  std::string name;  ///< file name in the command, which appears in the tool's messages
  std::string input;
  std::string output;
  /// All other words in their order. Each word is followed by a NUL.
  std::string options;
  /// Whether the output contains the input's path and the working directory.
  bool shows_paths = false;
};

/// Parses a command line. Returns none if a word's meaning is not known, or the input or output
/// file is missing.
[[nodiscard]] std::optional<Assembly> ReadAssembly(const Tool& tool, const Words& words);

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
