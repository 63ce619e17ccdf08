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

/// Keeps the compiler releases that users add. Each release has its own directory below the
/// daemon's, where the search for toolchains finds it. Only files whose digests are in the table of
/// known releases are kept, so a user can choose among NVIDIA's files but not change them.
/// Thread-safe.
class KeptReleases final : public Releases {
 public:
  struct Options {
    std::string directory;  ///< private to the daemon; created with the first release
    std::span<const KnownRelease> known = KnownReleases();
    Allowance bytes;           ///< limits of the disk space; `in_all` 0: no release is accepted
    FindAccount find_account;  ///< finds the account of a uid that gave a release in an earlier run
    /// Starts a search for toolchains. Calls the argument on any thread when the search has ended.
    std::function<void(std::function<void()>)> look_again;
  };

  /// Limits of the releases that are received at once. Each account may send one, and the last of
  /// all places is reserved for root and the daemon's user.
  static constexpr Allowance kIncoming{.per_account = 1, .in_all = 16};

  /// Removes unfinished drafts of an earlier run. `toolchains` must outlive this object.
  KeptReleases(Options options, Toolchains& toolchains);

  Result<Offer> Receive(const Peer& peer, std::span<const Digest> files) override;

 private:
  class Incoming;
  /// A release that was moved to its final place, and the search for toolchains after that.
  struct Placed;

  [[nodiscard]] const KnownRelease* Find(std::span<const Digest> files) const;
  /// Returns the id of a present toolchain that consists of this release's files.
  [[nodiscard]] std::optional<std::string> ToolchainWith(const KnownRelease& release) const;
  [[nodiscard]] std::string PathOf(const KnownRelease& release) const;
  /// Reserves disk space for a release that is received now. kOverloaded: there is no room.
  [[nodiscard]] Status Reserve(Account account, const KnownRelease& release);
  [[nodiscard]] Account OwnerOf(uid_t giver) const;
  void Release(Account account);
  /// Moves a complete release to its final place and waits for the search for toolchains.
  /// Concurrent callers with the same release share the work.
  [[nodiscard]] Result<std::string> Keep(ReleaseDraft& draft, const KnownRelease& release,
                                         uid_t giver);
  /// Returns the reason why the toolchain in the directory of a release was rejected.
  [[nodiscard]] std::string WhyRejected(const KnownRelease& release) const;

  const Options options_;
  Toolchains& toolchains_;
  Mutex mutex_;  ///< held while releases are counted and moved, not while bytes arrive
  std::map<Account, uint64_t> incoming_ GUARDED_BY(mutex_);  ///< bytes of the releases that are
                                                             ///< being received
  /// The latest Placed of each release.
  std::map<const KnownRelease*, std::shared_ptr<Placed>> placed_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
