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
#include "daemon/files/file_memory.h"

namespace cccl_cache::daemon {

/// Opens the files of this machine for requesters to whom its paths mean the same as to the daemon.
/// Thread-safe.
class HostFileAccess final : public FileAccess {
 public:
  struct Options {
    /// The daemon's own: state and runtime directories. No other user's files lie in them, for
    /// nothing in them is given to anybody.
    std::vector<std::string> own_directories;
    uid_t own_uid = 0;  ///< the daemon's
    std::optional<cccl_cache::FilesView> own_view =
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

}  // namespace cccl_cache::daemon
