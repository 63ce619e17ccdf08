// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/requester_files.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/contents.h"
#include "daemon/files/path_error.h"
#include "daemon/files/path_walk.h"
#include "daemon/system/job_memory.h"

namespace cccl_cache::daemon {

/// The files of this machine, by path. Each directory is opened once and stays open, so each build
/// and each check of a closure needs a new object.
class HostFiles final : public RequesterFiles {
 public:
  /// `own_places` are the daemon's own files and directories, which no requester gets.
  HostFiles(Reach reach, RootDirectories directories, std::vector<std::string> own_places,
            std::shared_ptr<FileMemory> memory, MemoryAccount account = {})
      : directories_(std::move(directories)),
        memory_(std::move(memory)),
        rules_(reach, std::move(own_places), memory_->checked),
        walk_(rules_, memory_->absent),
        reader_(rules_, *memory_, std::move(account)) {}
  HostFiles(const HostFiles&) = delete;
  HostFiles& operator=(const HostFiles&) = delete;

  Result<SeenFile> Look(const FileName& name) override;
  Result<Contents> Read(const FileName& name) override;

 private:
  /// Reads the file at a path. Returns errors that are meant for the requester. An absent file is
  /// not an error.
  Result<Contents> ReadPath(const std::string& path);
  Reached<Contents> ReadOnce(const std::string& path);

  const RootDirectories directories_;
  const std::shared_ptr<FileMemory> memory_;  // shared, because a thread that hangs may outlive the
                                              // daemon
  AccessRules rules_;
  NameWalk walk_;
  ContentsReader reader_;
};

/// Opens files of this machine for requesters who have the daemon's view of the file system, so
/// that a path leads to the same file for both. Thread-safe.
class HostFileAccess final : public FileAccess {
 public:
  struct Options {
    /// Directories and files that only the daemon may use: its state, keys and passwords. No
    /// requester gets a file in them.
    std::vector<std::string> own_places;
    uid_t own_uid = 0;  ///< the daemon's uid
    std::optional<FilesView> own_view =
        std::nullopt;  ///< the mount namespace and root of the daemon; none: no requester's files
                       ///< are opened
    /// Limit of the number of remembered digests of files, and of remembered absent names. Each
    /// needs some 200 bytes.
    size_t max_remembered = 65536;
    /// The memory to which large files are charged while they are in use. Null: large files are not
    /// charged.
    std::shared_ptr<JobMemory> memory = nullptr;
  };

  explicit HostFileAccess(Options options)
      : options_(std::move(options)),
        memory_(std::make_shared<FileMemory>(options_.max_remembered)) {}

  std::unique_ptr<RequesterFiles> Of(const Peer& peer, RootDirectories directories) override;

 private:
  const Options options_;
  const std::shared_ptr<FileMemory> memory_;
};

/// The files of a requester whose view of the file system differs from the daemon's or is unknown.
/// Every look-up returns kFilesNeeded, because only the client can read the files.
class FilesElsewhere final : public RequesterFiles {
 public:
  /// `why` is the reason, for the text of the error.
  FilesElsewhere(RootDirectories directories, std::string why)
      : directories_(std::move(directories)), why_(std::move(why)) {}

  Result<SeenFile> Look(const FileName& name) override { return Answer<SeenFile>(name); }
  Result<Contents> Read(const FileName& name) override { return Answer<Contents>(name); }

 private:
  template <typename Absent>
  [[nodiscard]] Result<Absent> Answer(const FileName& name) const {
    const std::string path = directories_.PathOf(name);
    if (path.empty()) return Absent{};
    return Error{ErrorCode::kFilesNeeded, "the program asks for " + path + ": " + why_};
  }

  const RootDirectories directories_;
  const std::string why_;
};

}  // namespace cccl_cache::daemon
