// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cccl_cache::standin {

using Names = std::span<const std::string_view>;

/// A tool whose output is stored: its options, and everything else that determines its output. In
/// each list of options, every option has a space before and after it.
struct Tool {
  std::string_view name;        ///< first part of the file names of the tool's programs
  std::string_view name_space;  ///< namespace of the tool's entries in the daemon
  std::string_view flags;
  std::string_view with_value;      ///< options of the form "--option=value"
  std::string_view with_next_word;  ///< options whose value may be the next word
  /// Options whose next word is the path of a file that the tool reads or writes.
  std::string_view inputs;
  std::string_view outputs;
  /// A flag with which the tool writes the files of `inputs`.
  std::string_view writing_inputs;
  /// Flags that make the output contain the input's path and the working directory.
  std::string_view showing_paths;
  /// Whether each output may contain the paths of all files and the working directory.
  bool shows_all_paths = false;
  /// Prefixes of the names of environment variables that change the output.
  Names variables;

  /// Path of the program that the tool starts, relative to the directory above the tool's own.
  /// Empty if the tool starts none.
  std::string_view program;
  /// Paths of the libraries that the tool tries to load, relative to the same directory.
  Names libraries;
  /// Environment variables that make the tool search these files in another directory.
  Names directory_variables;
  /// The directory that these variables may name, relative to the same directory, with a slash at
  /// its end. Empty: that directory itself.
  std::string_view directory;
};

/// Returns the tool whose name is a prefix of `name`. Null if the output of this tool is not
/// stored.
[[nodiscard]] const Tool* FindTool(std::string_view name);

}  // namespace cccl_cache::standin
