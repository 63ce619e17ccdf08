// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace cccl_cache::standin {

using Names = std::span<const std::string_view>;

/// A tool whose runs are kept: its options, each between blanks, and all else that
/// decides its output.
struct Tool {
  std::string_view name;        ///< the names of its programs begin with this
  std::string_view name_space;  ///< of its deposits
  std::string_view flags;
  std::string_view with_value;      ///< options with "=value"
  std::string_view with_next_word;  ///< options whose value may be the next word
  /// Flags with which the output shows the input's path and the working directory.
  std::string_view showing_paths;
  /// Variables whose names begin with one of these change the output.
  Names variables;

  /// The program that it starts, in the directory above its own. Empty: none.
  std::string_view program;
  /// Libraries that it tries to load, there as well.
  Names libraries;
  /// Variables that name another directory for them.
  Names directory_variables;
};

/// Returns null if runs of a tool of this name are not kept.
[[nodiscard]] const Tool* FindTool(std::string_view name);

}  // namespace cccl_cache::standin
