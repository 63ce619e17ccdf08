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

/// Contents that users sent, for a while and in memory only: so each travels once. A digest that a
/// user names counts only if that user sent the contents, so nobody gets anything for a digest that
/// he heard of. Bounded in bytes, each account's and all together. Thread-safe.
class SentContents {
 public:
  explicit SentContents(Now now);

  void Keep(uid_t uid, Account account, const Digest& digest,
            std::shared_ptr<const std::string> bytes);
  /// Whether this user sent such contents. They may be forgotten already.
  [[nodiscard]] bool WasSent(uid_t uid, const Digest& digest);
  [[nodiscard]] bool SentAny(uid_t uid) { return WasSent(uid, {}); }
  /// Null: never sent by this user, or forgotten.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid, const Digest& digest);

 private:
  ExpiringCache<std::shared_ptr<const std::string>> contents_;  // by uid and digest
  ExpiringCache<bool> sent_;                                    // by uid and digest
};

/// All that one build was answered about files, and under which directories.
struct AnsweredFiles {
  RootDirectories directories;
  Closure closure;
};
using AnsweredFilesPtr = std::shared_ptr<const AnsweredFiles>;

/// The files outside the toolchain of a caller that sent them and may be gone, as one build of its
/// was answered about them: the same names are there, and are the same inodes. Contents are what
/// the caller's user sent lately, or what still lies where the daemon may open it.
///
/// kFilesNeeded: the build was not answered about that path, or the contents are gone.
class RecalledFiles final : public RequesterFiles {
 public:
  struct Sources {
    uid_t uid = 0;                       ///< whose files these are
    std::shared_ptr<SentContents> sent;  ///< what that user sent
    /// What the daemon may open for that user, under `directories`.
    std::unique_ptr<RequesterFiles> daemons;
  };

  /// `directories`: under which the names are asked for; they may be others than when the build was
  /// answered, as long as the paths are the same.
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
