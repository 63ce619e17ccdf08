// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/requester_files.h"
#include "daemon/files/access_rules.h"
#include "daemon/files/contents_reader.h"
#include "daemon/files/file_memory.h"
#include "daemon/files/name_walk.h"
#include "daemon/files/obstacle.h"

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

}  // namespace cccl_cache::daemon
