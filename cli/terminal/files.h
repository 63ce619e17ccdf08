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

/// Returns all bytes of the file, or of standard input if the path is "-".
[[nodiscard]] Expected<std::string> ReadFile(const std::string& path);

/// Writes a file atomically through OutputFile. "-" writes to standard output.
[[nodiscard]] Expected<Done> WriteFile(const std::string& path, std::string_view contents);

/// Like WriteFile(), but every user can read the file (mode 0644 regardless of the umask), and it
/// is synced to the disk when the function returns.
[[nodiscard]] Expected<Done> WriteSharedFile(const std::string& path, std::string_view contents);

/// Returns the absolute path of the working directory, or "" if the directory was removed.
[[nodiscard]] std::string WorkingDirectory();

/// Returns the path's last component with its extension replaced by `extension`, which has no dot
/// ("cubin").
[[nodiscard]] std::string WithExtension(const std::string& path, std::string_view extension);
/// Returns the extension of the path's last component without the dot, or "" if there is none.
[[nodiscard]] std::string_view ExtensionOf(std::string_view path);

/// An output file that is written piece by piece. Finish() replaces the old file by it; until then,
/// readers see the old file or none. The path "-" means standard output. If the path is a symlink,
/// the link's target is replaced or created. A device or a pipe is written to directly. If other
/// users can write to the directory, a symlink or pipe there may be a trap: it is replaced itself,
/// unless root, this user or the directory's owner created it.
class OutputFile {
 public:
  [[nodiscard]] static Expected<OutputFile> Create(const std::string& given);
  OutputFile(OutputFile&& other) noexcept;
  /// Removes the draft, the incomplete new file, if Finish() has not put it in place.
  ~OutputFile();

  [[nodiscard]] int fd() const;
  /// The state of the file when Finish() returns. kInPlace means that its name leads to the new
  /// contents. That suffices for a file that can be created again after a power failure. kOnDisk
  /// means that it is also synced.
  enum class Until { kInPlace, kOnDisk };
  /// Puts the file in place. `mode` is the file's mode; none means 0666 without the bits of the
  /// umask.
  [[nodiscard]] Expected<Done> Finish(Until until, std::optional<mode_t> mode = std::nullopt);

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  /// Creates the draft in the file's directory, or in memory if that directory is not writable and
  /// the file exists.
  Expected<Done> Begin();
  /// Copies the draft into the existing file. Returns false, and keeps the file's contents and
  /// mode, if there is no space, or if `mode` must be set but another user owns the file.
  [[nodiscard]] bool Overwrite(std::optional<mode_t> mode);

  const std::string path_;    ///< path as the caller gave it, for error messages
  FileDescriptor directory_;  ///< the directory that contains the file
  std::string name_;          ///< name of the file in `directory_`
  std::string draft_;         ///< name of the draft in `directory_`; empty if there is none
  FileDescriptor file_;       ///< the open file that the caller writes to, such as the draft
  FileDescriptor in_place_;   ///< the existing file, if Finish() must copy `file_` into it
};

}  // namespace cccl_cache::cli
