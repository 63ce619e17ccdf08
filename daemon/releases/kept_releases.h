// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/releases.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/releases/known_releases.h"
#include "daemon/releases/release_draft.h"

namespace cccl_cache::daemon {

/// Keeps the releases that users add in the daemon's own directory, each in a directory with its
/// name. The toolchains in it are found like others. Only files with digests from the table are
/// ever kept, so a user can choose among NVIDIA's files and change none. Thread-safe.
class KeptReleases final : public Releases {
 public:
  struct Options {
    std::string directory;  ///< private to the daemon; made when the first release comes
    std::span<const KnownRelease> known = KnownReleases();
    Allowance bytes;           ///< disk space; a total of 0: no release is taken
    FindAccount find_account;  ///< account of the uid that gave a release in an earlier run
    /// Looks for toolchains and then calls back, on another thread or this one.
    std::function<void(std::function<void()>)> look_again;
  };

  /// Releases that are received at once: one by each account, one of them by root or the daemon's
  /// user only.
  static constexpr Allowance kIncoming{.per_account = 1, .in_all = 16};

  /// Removes unfinished drafts of an earlier run. `toolchains` must outlive this object.
  KeptReleases(Options options, Toolchains& toolchains);

  Result<Offer> Receive(const Peer& peer, std::span<const Digest> files) override;

 private:
  class Incoming;
  /// A release that was put in its place, and the search for toolchains after that.
  struct Placed;

  [[nodiscard]] const KnownRelease* Find(std::span<const Digest> files) const;
  /// Returns the id of a present toolchain that has the release.
  [[nodiscard]] std::optional<std::string> ToolchainWith(const KnownRelease& release) const;
  [[nodiscard]] std::string PathOf(const KnownRelease& release) const;
  /// Counts the release as incoming, if there is room for it.
  [[nodiscard]] Status Reserve(Account account, const KnownRelease& release);
  [[nodiscard]] Account OwnerOf(uid_t giver) const;
  void Release(Account account);
  /// Puts a complete release in its place and has it identified. Concurrent callers with the same
  /// release share the work.
  [[nodiscard]] Result<std::string> Keep(ReleaseDraft& draft, const KnownRelease& release,
                                         uid_t giver);
  /// Returns why the toolchain in the directory of a release is not used.
  [[nodiscard]] std::string WhyRejected(const KnownRelease& release) const;

  const Options options_;
  Toolchains& toolchains_;
  Mutex mutex_;  ///< held while releases are counted and moved, not while bytes arrive
  std::map<Account, uint64_t> incoming_ GUARDED_BY(mutex_);  ///< their bytes
  /// The latest placement of each release.
  std::map<const KnownRelease*, std::shared_ptr<Placed>> placed_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
