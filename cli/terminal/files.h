// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "cccl_cache/expected.h"

namespace cccl_cache::cli {

/// Returns all bytes of a file; "-": of standard input.
[[nodiscard]] Expected<std::string> ReadFile(const std::string& path);

/// Writes a file atomically, as OutputFile does.
[[nodiscard]] Expected<Done> WriteFile(const std::string& path, std::string_view contents);

/// Like WriteFile, for a file that every user must be able to read (mode 0644, whatever the umask
/// is). Synced to the disk when this returns.
[[nodiscard]] Expected<Done> WriteSharedFile(const std::string& path, std::string_view contents);

/// Returns the absolute path; "" if the directory is gone.
[[nodiscard]] std::string WorkingDirectory();

/// Returns the part after the last '/', with its last extension replaced by `extension` ("cubin").
[[nodiscard]] std::string WithExtension(const std::string& path, std::string_view extension);
/// Returns the part after the last '.' of the last component, or an empty view.
[[nodiscard]] std::string_view ExtensionOf(std::string_view path);

/// A file that is written piece by piece and put in place once it is complete; until then readers
/// see the old one, or none. "-": standard output. A link stays, and its target is replaced or
/// made; a device or a pipe is written in place. In a directory that others can write, a link or
/// pipe is replaced unless root, the caller or the directory's owner made it: it may be a trap.
class OutputFile {
 public:
  [[nodiscard]] static Expected<OutputFile> Create(const std::string& given);
  OutputFile(OutputFile&& other) noexcept;
  /// Removes the draft unless it was put in place.
  ~OutputFile();

  [[nodiscard]] int fd() const;
  /// The state when Finish returns. kInPlace suffices for a file that can be made again after a
  /// power cut.
  enum class Until { kInPlace, kOnDisk };
  /// `mode`: of the file; none: according to the umask.
  [[nodiscard]] Expected<Done> Finish(Until until, std::optional<mode_t> mode = std::nullopt);

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  /// Makes the draft beside the file, or in memory if the directory can't be written.
  Expected<Done> Begin();
  /// Overwrites the file in place. Returns false, and leaves contents and mode, if there is no
  /// space, or if another user owns the file and `mode` must be set.
  [[nodiscard]] bool Overwrite(std::optional<mode_t> mode);

  const std::string path_;    ///< as given, for messages
  FileDescriptor directory_;  ///< of the file
  std::string name_;          ///< name of the file in `directory_`
  std::string draft_;         ///< name of the draft in `directory_`; empty: no draft
  FileDescriptor file_;       ///< the file that is written
  FileDescriptor in_place_;   ///< the final file, if `file_` is copied into it
};

}  // namespace cccl_cache::cli
