// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/model/file_descriptor.h"
#include "daemon/files/file_systems.h"
#include "daemon/files/obstacle.h"
#include "daemon/files/reach.h"
#include "daemon/files/refused_places.h"

namespace cccl_cache::daemon {

inline constexpr uint64_t kMaxFileBytes = uint64_t{64} << 20;

/// Judges what is found on the way to a requester's file and at its end. Always of descriptors or
/// entries of open directories, so that nothing can be swapped between judging and using it. For
/// one build. Not thread-safe.
class AccessRules {
 public:
  AccessRules(Reach reach, std::vector<std::string> own_directories)
      : reach_(reach), refused_(std::move(own_directories)) {}

  /// Whether names may be looked up in an open (O_PATH) directory; if so, what it lies on.
  Reached<FileSystem> CheckSearch(int directory, const struct statx& status);

  /// Whether `name` in `directory` ("": the descriptor itself) may be given; if so, what it lies
  /// on. Not for symlinks.
  Reached<FileSystem> CheckTarget(int directory, const std::string& name,
                                  const struct statx& status);

  /// An open (O_PATH) regular file for reading, with the rights that the requester is due.
  Reached<FileDescriptor> OpenContents(int file) const;

  /// Whether a mode alone does not decide for this requester.
  [[nodiscard]] bool AccessListsMatter() const { return reach_.IsStrangers(); }

 private:
  Reached<FileSystem> CheckPlace(int directory, const std::string& name,
                                 const struct statx& status);

  const Reach reach_;
  RefusedPlaces refused_;
  FileSystems file_systems_;
};

}  // namespace cccl_cache::daemon
