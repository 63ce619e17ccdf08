// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What a user was answered with, by its key: what it takes to find it again and to choose among
/// many. No names of files, no texts.
struct AnsweredBuild {
  cccl_cache::Digest key;
  cccl_cache::Digest fingerprint;
  cccl_cache::Digest toolchain;
  std::string toolchain_version;
  std::string arch;                 ///< "sm_90"; empty: the options named none
  std::chrono::sys_seconds last{};  ///< when it was answered last

  bool operator==(const AnsweredBuild&) const = default;
};

/// Which artifacts each user was answered with, for those alone may a user export. Survives a
/// restart; bounded, each user's and all together: the oldest go. Thread-safe.
class AnsweredBuilds {
 public:
  virtual ~AnsweredBuilds() = default;

  /// Waits for no disk. Nothing is noted of the overflow uid, which stands for many users.
  virtual void Note(uid_t uid, AnsweredBuild build) = 0;

  /// One user's, ascending by key. Reads the disk.
  virtual std::vector<AnsweredBuild> Of(uid_t uid) = 0;
  /// Whether the user was answered with this one. Reads the disk, once.
  virtual bool Has(uid_t uid, const cccl_cache::Digest& key) = 0;
  /// Who was answered with anything, ascending. Reads the disk.
  virtual std::vector<uid_t> Users() = 0;
};

}  // namespace cccl_cache::daemon
