// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::standin {

using Names = std::span<const std::string_view>;
/// The words of a command line. The first word is the program's name.
using Words = std::vector<std::string>;

/// A tool whose output is stored: its options, and everything else that determines its output. In
/// each list of options, every option has a space before and after it.
struct Tool {
  std::string_view name;        ///< first part of the file names of the tool's programs
  std::string_view name_space;  ///< namespace of the tool's entries in the daemon
  std::string_view flags;
  /// First parts of options whose rest is any text. A word that begins with one of `refused` is no
  /// such option.
  std::string_view prefixes;
  std::string_view refused;
  std::string_view with_value;      ///< options of the form "--option=value"
  std::string_view with_next_word;  ///< options whose value may be the next word
  /// Options whose next word is the path of a file that the tool reads or writes.
  std::string_view inputs;
  std::string_view outputs;
  /// A flag with which the tool writes the files of `inputs`, if it also writes host code.
  /// Otherwise it then neither reads nor writes them.
  std::string_view writing_inputs;
  /// Flags that make the output contain the input's path and the working directory.
  std::string_view showing_paths;
  /// Whether each output may contain the paths of inputs and the working directory.
  bool shows_inputs = false;
  /// Whether it may also contain the paths of outputs. Only such a tool has several outputs.
  bool shows_outputs = false;
  /// Whether the output may have the times and sizes of files that a text among the inputs names.
  bool shows_times = false;
  /// Whether the tool is a compiler driver, which starts other programs and reads headers.
  bool drives = false;
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

/// Returns the tool of a command line. Its name is a prefix of `name`, the program's file name. A
/// compiler of host code is known by its words instead. Null if the output of this tool is not
/// stored.
[[nodiscard]] const Tool* FindTool(std::string_view name, const Words& words);

}  // namespace cccl_cache::standin
