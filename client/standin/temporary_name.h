// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache::standin {

/// The part of its temporary files' names that nvcc chooses for each run: "tmpxft_", the process
/// number and another number, each of 8 hexadecimal digits. These names are in texts and objects
/// that nvcc's steps write. Stored texts have a placeholder of the same length in its place. A
/// value type.
class TemporaryName {
 public:
  /// A run without temporary files.
  TemporaryName() = default;

  /// Returns the first such name in a word of the command line, or none.
  [[nodiscard]] static std::optional<TemporaryName> In(std::string_view word);

  /// Replaces this name by the placeholder. Other runs' names remain. Returns none if the text
  /// already contains the placeholder.
  [[nodiscard]] std::optional<std::string> Hide(std::string text) const;
  /// Replaces the placeholder by this name. Returns none if the text contains the placeholder and
  /// the run has no temporary files.
  [[nodiscard]] std::optional<std::string> Show(std::string text) const;

 private:
  explicit TemporaryName(std::string_view name) : name_(name) {}

  std::string name_;  ///< empty if the run has none
};

}  // namespace cccl_cache::standin
