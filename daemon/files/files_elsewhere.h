// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "daemon/core/model/requester_files.h"

namespace cccl_cache::daemon {

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
