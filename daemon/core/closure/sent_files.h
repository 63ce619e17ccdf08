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

/// Keeps the contents of files that users sent. They stay in memory for a limited time, so that
/// each file is sent only once. A user gets contents by their digest only if the same user has sent
/// them. Knowing the digest of another user's file is therefore of no use. Limited in bytes, for
/// each account and in total. Thread-safe.
class SentContents {
 public:
  explicit SentContents(Now now);

  void Keep(uid_t uid, Account account, const Digest& digest,
            std::shared_ptr<const std::string> bytes);
  /// Returns whether this user sent contents with this digest within the last day, even if the
  /// contents are not kept any more.
  [[nodiscard]] bool WasSent(uid_t uid, const Digest& digest);
  [[nodiscard]] bool SentAny(uid_t uid) { return WasSent(uid, {}); }
  /// Returns the contents, or null if this user has not sent them or they are not kept any more.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid, const Digest& digest);

 private:
  ExpiringCache<std::shared_ptr<const std::string>> contents_;  // by uid and digest
  ExpiringCache<bool> sent_;                                    // by uid and digest
};

/// All answers about files that one build got, and its root directories.
struct AnsweredFiles {
  RootDirectories directories;
  Closure closure;
};
using AnsweredFilesPtr = std::shared_ptr<const AnsweredFiles>;

/// The files of a caller as an earlier build recorded them, for a build that can't ask this caller
/// any more. Names and inodes are those of the record. Contents are those that the user has sent
/// recently, and those of files that the daemon may open itself.
///
/// Returns kFilesNeeded if the earlier build did not ask for a path, or if its contents are not
/// kept.
class RecalledFiles final : public RequesterFiles {
 public:
  struct Sources {
    uid_t uid = 0;                       ///< the user whose files they are
    std::shared_ptr<SentContents> sent;  ///< contents that users sent
    /// The files that the daemon may open for this user, under the roots of the current build.
    std::unique_ptr<RequesterFiles> daemons;
  };

  /// `directories` are the roots of the current build. They may differ from those of the earlier
  /// build. Files are found by their absolute paths.
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
