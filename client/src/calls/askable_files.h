// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cccl_cache {

/// Which files of this process a daemon may ask about for one build: what lies below the
/// directories that the build names, and names that stand in the program or in a file that was
/// answered before. A compiler asks for no others, so a question for another file comes from
/// somebody else's build, or from a compiler that was taken over. Not thread-safe.
class AskableFiles {
 public:
  /// The files that a build names.
  struct Program {
    std::string working_directory;
    std::string name;
    std::vector<std::string> options;     ///< with those that its environment adds
    std::vector<std::string_view> texts;  ///< its source and inline headers, which outlive this
  };
  /// None: a link or the like, which asks for no file.
  explicit AskableFiles(std::optional<Program> program);

  /// `path`: absolute. May read the files that were answered before, to look for the name there.
  [[nodiscard]] bool May(const std::string& path);
  /// A regular file of these contents was answered.
  void NoteAnswered(const std::string& path, std::string_view contents);

 private:
  [[nodiscard]] bool IsBelowDirectories(std::string_view path) const;
  [[nodiscard]] bool IsNamed(std::string_view path) const;
  void AddDirectories();
  /// Reads what was not worth reading before: nearly all builds ask for nothing outside.
  void StartToLearn();
  /// Keeps the names in a text that lead out of the directories; `all`: others as well.
  void Learn(std::string_view text, bool all);
  void Keep(std::string_view name, bool all);

  const std::optional<Program> program_;
  std::vector<std::string> directories_;
  std::vector<std::string> answered_;  ///< below the directories, until learning starts
  bool learns_ = false;
  std::unordered_set<std::string> names_;
  size_t name_bytes_ = 0;
  std::unordered_set<std::string> others_;  ///< directories of files that were answered elsewhere
};

}  // namespace cccl_cache
