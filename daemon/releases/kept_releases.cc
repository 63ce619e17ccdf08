// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/releases/kept_releases.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

#include "daemon/system/own_directory.h"

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

Error Overloaded(std::string message) { return {ErrorCode::kOverloaded, std::move(message)}; }

void RemoveDrafts(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code ignored;
    if (each->path().filename().native().starts_with(ReleaseDraft::kPrefix)) {
      fs::remove_all(each->path(), ignored);
    }
  }
}

}  // namespace

struct KeptReleases::Placed {
  std::promise<void> looked;
  const std::shared_future<void> searched{looked.get_future()};
};

/// A release that is being received. Its disk space is reserved until the object is destroyed.
class KeptReleases::Incoming final : public IncomingRelease {
 public:
  Incoming(KeptReleases& all, const KnownRelease& release, const Peer& peer)
      : all_(all), release_(release), giver_(peer.uid), account_(peer.account()) {}
  ~Incoming() override {
    draft_.reset();
    all_.Release(account_);
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// Makes the directory that receives the files.
  Status Open() {
    const std::string& directory = all_.options_.directory;
    if (Status made = MakeDirectories(directory, 0700); !made) return made;
    Result<ReleaseDraft> draft = ReleaseDraft::Create(directory, release_);
    if (!draft) return draft.error();
    draft_.emplace(*std::move(draft));
    return Ok{};
  }

  [[nodiscard]] std::string_view version() const override { return release_.version; }
  Status Append(std::string_view bytes) override { return draft_->Append(bytes); }
  [[nodiscard]] bool Complete() const override { return draft_->Complete(); }
  Result<std::string> Finish() override { return all_.Keep(*draft_, release_, giver_); }

 private:
  KeptReleases& all_;
  const KnownRelease& release_;
  const uid_t giver_;
  const Account account_;
  std::optional<ReleaseDraft> draft_;
};

KeptReleases::KeptReleases(Options options, Toolchains& toolchains)
    : options_(std::move(options)), toolchains_(toolchains) {
  RemoveDrafts(options_.directory);
}

Result<Releases::Offer> KeptReleases::Receive(const Peer& peer, std::span<const Digest> files) {
  if (peer.uid == kOverflowUid) {
    return Error{ErrorCode::kDenied,
                 "uid 65534 stands for many users, so no release is taken from it"};
  }
  if (options_.bytes.in_all == 0) {
    return Error{ErrorCode::kDenied,
                 "this daemon keeps no releases: its release_limit is 0; name the library's "
                 "directory to it with --toolchain-root"};
  }
  const KnownRelease* const release = Find(files);
  if (release == nullptr) {
    return Error{ErrorCode::kToolchainNotFound,
                 fmt::format("this is none of the {} releases of NVIDIA's that the daemon knows by "
                             "their digests: use one of these, or name the library's directory to "
                             "the daemon with --toolchain-root",
                             options_.known.size())};
  }
  if (auto id = ToolchainWith(*release)) return Offer(*std::move(id));
  if (Status reserved = Reserve(peer.account(), *release); !reserved) return reserved.error();
  auto incoming = std::make_unique<Incoming>(*this, *release, peer);
  if (Status opened = incoming->Open(); !opened) return opened.error();
  return Offer(std::move(incoming));
}

const KnownRelease* KeptReleases::Find(std::span<const Digest> files) const {
  const auto found = std::ranges::find_if(options_.known, [&](const KnownRelease& release) {
    return std::ranges::equal(release.files(), files, {}, &KnownRelease::File::sha256);
  });
  return found == options_.known.end() ? nullptr : &*found;
}

std::optional<std::string> KeptReleases::ToolchainWith(const KnownRelease& release) const {
  const Digest component = release.component();
  for (const ToolchainPtr& toolchain : toolchains_.Present()) {
    const auto& library = release.builtins ? toolchain->nvrtc : toolchain->nvjitlink;
    // A library that was removed since the last search is still in the list, so check its files.
    if (library && library->id == component && toolchains_.Unchanged(*toolchain)) {
      return toolchain->id.Hex();
    }
  }
  return std::nullopt;
}

std::string KeptReleases::PathOf(const KnownRelease& release) const {
  return options_.directory + "/" + release.directory();
}

Status KeptReleases::Reserve(Account account, const KnownRelease& release) {
  const MutexLock lock(mutex_);
  HeldInAll places;
  for (const auto& [other, bytes] : incoming_) places.Add(other, 1);
  const uint64_t own = incoming_.count(account);
  if (own >= kIncoming.Most(account, own, places)) {
    return Overloaded("other releases are being received: try again in a few seconds");
  }
  // All containers count as one account here, because their uids are valid for one run only.
  const Account payer = account.IsContainers() ? Account::OfUntoldContainers() : account;
  HeldInAll held;
  uint64_t mine = 0;
  for (const auto& [other, bytes] : incoming_) held.Add(other, bytes);
  for (const KnownRelease& kept : options_.known) {
    const std::optional<uid_t> giver = GiverOf(PathOf(kept));
    // A kept copy of the same release does not count, because the new copy replaces it.
    if (!giver || &kept == &release) continue;
    const Account owner = OwnerOf(*giver);
    held.Add(owner, kept.bytes());
    if (owner == payer) mine += kept.bytes();
  }
  const uint64_t most = options_.bytes.Most(payer, mine, held);
  if (mine + release.bytes() > most) {
    return Overloaded(fmt::format(
        "release {} takes {} MiB, and {} MiB are left for {}: an administrator can remove releases "
        "from the daemon's state directory, or raise release_limit or release_limit_per_uid",
        release.version, release.bytes() >> 20, (most - std::min(most, mine)) >> 20,
        account.Name()));
  }
  incoming_[account] = release.bytes();
  return Ok{};
}

Account KeptReleases::OwnerOf(uid_t giver) const {
  if (IsContainerUser(giver)) return Account::OfUntoldContainers();
  return options_.find_account(giver).value_or(Account(giver));
}

void KeptReleases::Release(Account account) {
  const MutexLock lock(mutex_);
  incoming_.erase(account);
}

Result<std::string> KeptReleases::Keep(ReleaseDraft& draft, const KnownRelease& release,
                                       uid_t giver) {
  std::shared_ptr<Placed> placed;
  for (bool own = false; !own;) {
    // Another user may have added the same release meanwhile.
    if (auto id = ToolchainWith(release)) return *std::move(id);
    {
      const MutexLock lock(mutex_);
      std::shared_ptr<Placed>& last = placed_[&release];
      own = last == placed;  // none was placed yet, or the search rejected the last one
      if (own) {
        if (Status moved = draft.MoveTo(PathOf(release), giver); !moved) return moved.error();
        last = std::make_shared<Placed>();
      }
      placed = last;
    }
    if (own) options_.look_again([placed] { placed->looked.set_value(); });
    placed->searched.wait();
  }
  if (auto id = ToolchainWith(release)) return *std::move(id);
  return Error{ErrorCode::kUnavailable, fmt::format("release {} was kept and can't be used: {}",
                                                    release.version, WhyRejected(release))};
}

std::string KeptReleases::WhyRejected(const KnownRelease& release) const {
  for (const RejectedToolchain& rejected : toolchains_.Rejected()) {
    if (rejected.root.ends_with("/" + release.directory())) return rejected.reason;
  }
  return "the daemon has not looked at it yet; it will";
}

}  // namespace cccl_cache::daemon
