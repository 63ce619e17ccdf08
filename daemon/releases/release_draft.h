// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/result.h"
#include "daemon/releases/known_releases.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A directory that receives the files of a release. The destructor removes the directory, unless
/// it was moved to its final place. Not thread-safe.
class ReleaseDraft {
 public:
  /// Prefix of the directories of drafts, which the search for toolchains skips.
  static constexpr std::string_view kPrefix = "draft.";

  /// Makes a draft in `directory`, which must be private to the daemon. `release` must outlive the
  /// draft.
  [[nodiscard]] static Result<ReleaseDraft> Create(const std::string& directory,
                                                   const KnownRelease& release);
  ReleaseDraft(ReleaseDraft&& other) noexcept;
  ReleaseDraft& operator=(ReleaseDraft&&) = delete;
  ~ReleaseDraft();

  /// Writes the next bytes of the release. When a file is complete, it is synced and its digest is
  /// checked before the next file begins. kInvalidRequest: a digest is wrong, or there are more
  /// bytes than the release has.
  [[nodiscard]] Status Append(std::string_view bytes);
  /// Returns whether all files are complete.
  [[nodiscard]] bool Complete() const { return done_ == release_->files().size(); }
  /// Moves a complete draft to `path`, in place of what is there, and records the uid of the giver.
  [[nodiscard]] Status MoveTo(const std::string& path, uid_t giver);

 private:
  ReleaseDraft(std::string path, const KnownRelease& release)
      : path_(std::move(path)), release_(&release) {}

  /// Writes a part of the next file.
  [[nodiscard]] Status Write(std::string_view bytes);
  /// Closes a file that has all its bytes.
  [[nodiscard]] Status CloseFile();

  std::string path_;  ///< path of the directory; empty after the move
  const KnownRelease* const release_;
  size_t done_ = 0;       ///< number of complete files
  FileDescriptor file_;   ///< the file that is being written; invalid before its first byte
  uint64_t written_ = 0;  ///< bytes of file_ so far
  Hasher hasher_;         ///< digest of the bytes of `file_` so far
};

/// Returns the uid that gave the release in a directory; none if there is no such release.
[[nodiscard]] std::optional<uid_t> GiverOf(const std::string& path);

}  // namespace cccl_cache::daemon
