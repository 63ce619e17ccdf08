// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cccl_cache::standin {

using Names = std::span<const std::string_view>;

/// A tool whose runs are kept: its options, each between blanks, and everything else that decides
/// its output.
struct Tool {
  std::string_view name;        ///< prefix of the names of its programs
  std::string_view name_space;  ///< namespace of its deposits
  std::string_view flags;
  std::string_view with_value;      ///< options with "=value"
  std::string_view with_next_word;  ///< options whose value may be the next word
  /// Flags with which the output contains the input's path and the working directory.
  std::string_view showing_paths;
  /// Prefixes of variables that change the output.
  Names variables;

  /// The program that it starts, relative to the parent of its own directory. Empty: none.
  std::string_view program;
  /// Libraries that it tries to load, relative to the same directory.
  Names libraries;
  /// Variables that name another directory for them.
  Names directory_variables;
};

/// Returns null if runs of a tool of this name are not kept.
[[nodiscard]] const Tool* FindTool(std::string_view name);

}  // namespace cccl_cache::standin
