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

#include "daemon/core/model/job_memory.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/contents.h"
#include "daemon/files/path_error.h"
#include "daemon/files/path_walk.h"

namespace cccl_cache::daemon {

/// The files of this machine, by path. A directory is opened once and then is the same one for this
/// object: make a new one for each build and each check of a closure.
class HostFiles final : public RequesterFiles {
 public:
  /// `own_directories`: the daemon's, refused to everybody.
  HostFiles(Reach reach, RootDirectories directories, std::vector<std::string> own_directories,
            std::shared_ptr<FileMemory> memory, MemoryAccount account = {})
      : directories_(std::move(directories)),
        rules_(reach, std::move(own_directories)),
        memory_(std::move(memory)),
        walk_(rules_, memory_->absent),
        reader_(rules_, *memory_, std::move(account)) {}
  HostFiles(const HostFiles&) = delete;
  HostFiles& operator=(const HostFiles&) = delete;

  Result<SeenFile> Look(const FileName& name) override;
  Result<Contents> Read(const FileName& name) override;

 private:
  /// Obstacles as the requester is told them; nothing there is an answer.
  Result<Contents> ReadPath(const std::string& path);
  Reached<Contents> ReadOnce(const std::string& path);

  const RootDirectories directories_;
  AccessRules rules_;
  const std::shared_ptr<FileMemory> memory_;  // a disk that hangs may outlast the daemon's end
  NameWalk walk_;
  ContentsReader reader_;
};

/// Opens the files of this machine for requesters to whom its paths mean the same as to the daemon.
/// Thread-safe.
class HostFileAccess final : public FileAccess {
 public:
  struct Options {
    /// The daemon's own: state and runtime directories. No other user's files lie in them, for
    /// nothing in them is given to anybody.
    std::vector<std::string> own_directories;
    uid_t own_uid = 0;  ///< the daemon's
    std::optional<FilesView> own_view =
        std::nullopt;  ///< what paths mean to the daemon; none: nobody's files are opened
    /// Files whose digests are remembered, and absent names; some 200 bytes each.
    size_t max_remembered = 65536;
    /// What large files count on while they are handed over; null: on nothing.
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

/// The files of a requester whose paths mean something else to the daemon, or may: all that the
/// daemon knows of them is that only the client can tell.
class FilesElsewhere final : public RequesterFiles {
 public:
  /// `why`: the cause, for the client.
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
