// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/core/closure/closure.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/expiring_cache.h"
#include "daemon/core/model/requester_files.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A cache of contents that users sent, for a limited time and in memory only, so that each is sent
/// once. A user gets contents by their digest only after sending them, so a digest from elsewhere
/// is of no use. Bounded in bytes, for each account and for all together. Thread-safe.
class SentContents {
 public:
  explicit SentContents(Now now);

  void Keep(uid_t uid, Account account, const Digest& digest,
            std::shared_ptr<const std::string> bytes);
  /// Returns whether this user sent contents with this digest, even if they were evicted since.
  [[nodiscard]] bool WasSent(uid_t uid, const Digest& digest);
  [[nodiscard]] bool SentAny(uid_t uid) { return WasSent(uid, {}); }
  /// Returns the contents, or null if this user has not sent them or they are not kept any more.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid, const Digest& digest);

 private:
  ExpiringCache<std::shared_ptr<const std::string>> contents_;  // by uid and digest
  ExpiringCache<bool> sent_;                                    // by uid and digest
};

/// All answers about files in one build, and the directories of its roots.
struct AnsweredFiles {
  RootDirectories directories;
  Closure closure;
};
using AnsweredFilesPtr = std::shared_ptr<const AnsweredFiles>;

/// The sent files of a caller that may have left, as its build recorded them: the same names with
/// the same inodes. Contents are those that the user sent recently, or of files that the daemon may
/// open itself.
///
/// kFilesNeeded: the build did not ask for this path, or its contents are not kept any more.
class RecalledFiles final : public RequesterFiles {
 public:
  struct Sources {
    uid_t uid = 0;                       ///< owner of these files
    std::shared_ptr<SentContents> sent;  ///< contents that users sent
    /// The files that the daemon may open for that user, under `directories`.
    std::unique_ptr<RequesterFiles> daemons;
  };

  /// `directories`: the roots of the current build. They may differ from those of the answered
  /// build, as long as the paths are the same.
  RecalledFiles(AnsweredFilesPtr answered, RootDirectories directories, Sources sources);

  Result<SeenFile> Look(const FileName& name) override;
  Result<Contents> Read(const FileName& name) override;

 private:
  [[nodiscard]] std::shared_ptr<const std::string> ContentsOf(const FileName& name,
                                                              const Digest& digest);

  const AnsweredFilesPtr answered_;
  const RootDirectories directories_;
  const Sources sources_;
  std::unordered_map<std::string, const ClosureEntry*> by_path_;
};

}  // namespace cccl_cache::daemon
