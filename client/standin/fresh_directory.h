// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache::standin {

/// A directory with a random name that a program has made for one source, as Python's tempfile
/// does: "tmp" and eight characters. Stored runs have a placeholder of the same length in place of
/// the name, and another one in place of the hash of the source's path, which is the first number
/// of nvcc's module id. So runs in other directories share them. A value type.
class FreshDirectory {
 public:
  /// Returns the directory of a file, or none if its name is no such name.
  [[nodiscard]] static std::optional<FreshDirectory> Of(const std::string& path);
  /// Returns the first such directory that a file of a PTX text's line table is in.
  [[nodiscard]] static std::optional<FreshDirectory> InPtx(std::string_view ptx);

  /// Returns whether a text, such as an environment variable, has the name.
  [[nodiscard]] bool IsIn(std::string_view text) const;

  /// Returns whether a text has the path of another such directory beside this one.
  [[nodiscard]] bool HasSibling(std::string_view text) const;

  /// Replaces the name and the hash by the placeholders. None if the text has a placeholder, or
  /// the name elsewhere than in the path of the directory.
  [[nodiscard]] std::optional<std::string> Hide(std::string text) const;
  /// Replaces the placeholders by the name and the hash.
  [[nodiscard]] std::string Show(std::string text) const;

  /// Returns whether a compiler that reads this text knows the path from names of files alone: in
  /// line markers, of a preprocessed text without a word that asks for the path, or in the files of
  /// PTX. It can't compute with these.
  [[nodiscard]] bool IsInMarkersOnly(std::string_view text) const;
  [[nodiscard]] bool IsInFilesOnly(std::string_view ptx) const;
  /// Returns whether this is the module id of the file.
  [[nodiscard]] bool IsInModuleId(std::string_view id) const { return id.starts_with(hash_); }

 private:
  FreshDirectory(std::string_view above, std::string_view name, const std::string& file);

  /// Returns whether each line with the name is a directive with a number and a quoted path in the
  /// directory.
  [[nodiscard]] bool IsInLinesOnly(std::string_view directive, std::string_view text) const;

  std::string above_;  ///< the directory that has it, with a slash at the end
  std::string name_;
  std::string hash_;  ///< with the characters around it in a module id
};

}  // namespace cccl_cache::standin
