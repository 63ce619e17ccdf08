// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::standin {

/// A directory with a random name that a program has made for one source. Its name has one of a few
/// forms, such as that of Python's tempfile: "tmp" and eight characters. Stored runs have a
/// placeholder of the same length in place of the name, and others in place of the hashes in nvcc's
/// module id: that of the source's path is its first number. If no function can be part of the id,
/// it ends with the hash of the source's time and the working directory, and with the number of a
/// process. So runs in other directories whose names have the same form and length share them. A
/// value type.
class FreshDirectory {
 public:
  /// Returns the directory of a file with an absolute path, or none if its name is no such name.
  [[nodiscard]] static std::optional<FreshDirectory> Of(const std::string& path);
  /// Returns the first such directory that a file of a PTX text's line table is in.
  [[nodiscard]] static std::optional<FreshDirectory> InPtx(std::string_view ptx);

  /// Returns whether a text, such as an environment variable, has the name.
  [[nodiscard]] bool IsIn(std::string_view text) const;

  /// Returns the placeholder for the name. It shows form and length.
  [[nodiscard]] const std::string& placeholder() const { return name_.placeholder; }

  /// Makes the second hash known. `changed` is the time of the source's last change, in seconds.
  void HashTime(time_t changed, std::string_view working);

  /// Returns whether a text has the path of another directory beside this one whose name has the
  /// same placeholder.
  [[nodiscard]] bool HasSibling(std::string_view text) const;

  /// Replaces the name and the hashes by the placeholders. None if the text has a placeholder, or
  /// the name elsewhere than in the path of the directory.
  [[nodiscard]] std::optional<std::string> Hide(std::string text) const;
  /// Replaces the placeholders by the name and the hashes.
  [[nodiscard]] std::string Show(std::string text) const;

  /// Returns whether a compiler that reads this text knows the path from names of files alone: in
  /// line markers, of a preprocessed text without a word that asks for the path, or in the files of
  /// PTX. It can't compute with these. An assert() in another file asks for the name of that file.
  [[nodiscard]] bool IsInMarkersOnly(std::string_view text) const;
  [[nodiscard]] bool IsInFilesOnly(std::string_view ptx) const;
  /// Returns whether this is the module id of the file, and has no other hash than those known.
  [[nodiscard]] bool IsInModuleId(std::string_view id) const;

 private:
  FreshDirectory(std::string_view above, std::string_view name, const std::string& file);

  struct Hidden {
    std::string text;
    std::string placeholder;
  };

  /// Returns whether a text has one of the hashes.
  [[nodiscard]] bool HasHash(std::string_view text) const;
  /// Returns whether a text has one of the placeholders.
  [[nodiscard]] bool HasPlaceholder(std::string_view text) const;

  /// Returns whether what follows in a preprocessed text is in a file of this directory, or may be.
  [[nodiscard]] bool IsOfThis(std::string_view before) const;

  /// Returns whether each line with the name is a directive with a number and a quoted path in the
  /// directory.
  [[nodiscard]] bool IsInLinesOnly(std::string_view directive, std::string_view text) const;

  std::string above_;           ///< the directory that has it, with a slash at the end
  Hidden name_;                 ///< without a placeholder if it has none of the forms
  std::vector<Hidden> hashes_;  ///< with the characters around them in a module id
};

}  // namespace cccl_cache::standin
