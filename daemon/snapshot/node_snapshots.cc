// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/node_snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "daemon/core/lookup/manifest.h"
#include "daemon/snapshot/received_snapshot.h"
#include "daemon/snapshot/spool.h"
#include "proto/compression.h"
#include "proto/snapshot/snapshot.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{1'000};

std::string Text(const std::string& text) { return IsSnapshotText(text) ? text : ""; }

SnapshotItem ItemOf(const AnsweredBuild& build, uint64_t bytes) {
  SnapshotItem item;
  item.key = build.key;
  item.bytes = bytes;
  item.toolchain = build.toolchain;
  item.toolchain_version = Text(build.toolchain_version);
  item.arch = Text(build.arch);
  return item;
}

SnapshotItem ItemOf(const ChosenDeposit& deposit, uint64_t bytes) {
  SnapshotItem item;
  item.kind = SnapshotKind::kDeposit;
  item.key = deposit.identity;
  item.bytes = bytes;
  item.name_space = Text(deposit.record.name_space);
  return item;
}

Result<std::string> Stored(std::string_view record) {
  std::optional<std::string> stored = Compress(record, kStrongCompression);
  if (stored) return *std::move(stored);
  return Error{ErrorCode::kUnavailable,
               fmt::format("no memory to compress {} bytes: try again", record.size())};
}

/// Returns the user whose private entries the caller's snapshot includes. None: it includes only
/// shared entries. That holds for an administrator, whose snapshot may be inserted for all users of
/// another node.
std::optional<uid_t> OwnerFor(const Peer& peer) {
  return peer.administrator ? std::nullopt : std::optional(peer.uid);
}

}  // namespace

Result<std::shared_ptr<void>> Places::Take(Account account, const std::stop_token& left) {
  const MutexLock lock(mutex_);
  if (std::ranges::find(waiting_, account) != waiting_.end()) {
    return Error{ErrorCode::kOverloaded,
                 fmt::format("{} is at work on one snapshot and waits with another: wait for "
                             "the end of one",
                             account.Name()),
                 kRetryAfter};
  }
  const auto mine = waiting_.insert(waiting_.end(), account);
  const bool mine_now =
      changed_.Wait(mutex_, left, [&]() REQUIRES(mutex_) { return IsNext(account); });
  waiting_.erase(mine);
  // The front of the queue has changed, so another account may now be next.
  changed_.NotifyAll();
  if (!mine_now) return Error{ErrorCode::kCancelled, "the caller left"};
  inside_.insert(account);
  return std::shared_ptr<void>(this, [this, account](void*) { GiveBack(account); });
}

bool Places::IsNext(Account account) const {
  HeldInAll held;
  for (const Account& each : inside_) held.Add(each, 1);
  const auto may_enter = [&](Account each) REQUIRES(mutex_) {
    const uint64_t own = inside_.count(each);
    return own < allowance_.Most(each, own, held);
  };
  const auto next = std::ranges::find_if(waiting_, may_enter);
  return next != waiting_.end() && *next == account;
}

void Places::GiveBack(Account account) {
  {
    const MutexLock lock(mutex_);
    inside_.erase(account);
  }
  changed_.NotifyAll();
}

Result<SnapshotSummary> NodeSnapshots::Create(const SnapshotCaller& caller,
                                              const SnapshotFilter& filter, const Sink& sink) {
  const Result<std::shared_ptr<void>> place = TakePlace(caller);
  if (!place) return place.error();
  const Result<std::vector<ChosenBuild>> chosen =
      ChooseBuilds(parts_.answered, caller.peer, filter);
  if (!chosen) return chosen.error();
  Status sunk = Ok{};
  SnapshotWriter writer([&](std::string_view bytes) {
    sunk = sink(bytes);
    return sunk.ok();
  });
  SnapshotSummary summary;
  const auto add = [&](const Result<std::optional<Packed>>& packed) -> Status {
    if (!packed) return packed.error();
    if (!*packed || writer.count() == kMaxSnapshotRecords) {
      ++summary.left_out;
    } else if (!writer.Add((*packed)->item, (*packed)->stored)) {
      return sunk.error();
    }
    return Ok{};
  };
  for (const ChosenBuild& each : *chosen) {
    if (Status added = add(Pack(caller, each.build)); !added) return added.error();
  }
  const std::vector<ChosenDeposit> deposits = ChooseDeposits(parts_.deposits, caller.peer, filter);
  for (const ChosenDeposit& each : deposits) {
    if (Status added = add(Pack(caller, each)); !added) return added.error();
  }
  if (!writer.Finish()) return sunk.error();
  summary.only_wanted = filter.only_wanted;
  const size_t found = chosen->size() + deposits.size();
  if (filter.wanted.size() > found) summary.left_out += filter.wanted.size() - found;
  summary.records = writer.count();
  summary.bytes = writer.written();
  return summary;
}

Result<std::shared_ptr<void>> NodeSnapshots::TakePlace(const SnapshotCaller& caller) {
  Places& places = caller.peer.administrator ? administrators_ : users_;
  return places.Take(caller.peer.account(), caller.left);
}

Result<std::optional<NodeSnapshots::Packed>> NodeSnapshots::Pack(const SnapshotCaller& caller,
                                                                 const AnsweredBuild& build) {
  const std::optional<ArtifactRecord> record = RecordOf(OwnerFor(caller.peer), build);
  if (!record) return std::optional<Packed>();
  const uint64_t size = record->artifact->Footprint() + BytesOf(record->closure);
  if (size > kMaxRecordBytes) return std::optional<Packed>();
  if (const Status held = caller.hold(size * kCopiesOfRecord); !held) return held.error();
  const std::string bytes = EncodeArtifactRecord(*record);
  Result<std::string> stored = Stored(bytes);
  if (!stored) return stored.error();
  return std::optional<Packed>({ItemOf(build, bytes.size()), *std::move(stored)});
}

Result<std::optional<NodeSnapshots::Packed>> NodeSnapshots::Pack(const SnapshotCaller& caller,
                                                                 const ChosenDeposit& deposit) {
  const DepositRecord& record = deposit.record;
  if (record.size > kMaxRecordBytes) return std::optional<Packed>();
  if (Status held = caller.hold(record.size * kCopiesOfRecord); !held) return held.error();
  const DepositContents contents = parts_.deposits.Read(record.key);
  if (contents == nullptr) return std::optional<Packed>();
  const std::string bytes = EncodeDepositCopy({record.name_space, record.fields, contents});
  if (bytes.size() > kMaxRecordBytes) return std::optional<Packed>();
  Result<std::string> stored = Stored(bytes);
  if (!stored) return stored.error();
  return std::optional<Packed>({ItemOf(deposit, bytes.size()), *std::move(stored)});
}

std::optional<ArtifactRecord> NodeSnapshots::RecordOf(std::optional<uid_t> owner,
                                                      const AnsweredBuild& build) {
  ArtifactRecord record{build.fingerprint, {}, FindOwn(owner, build.key)};
  if (record.artifact == nullptr) record.artifact = FindShared(build.key);
  if (record.artifact == nullptr) return std::nullopt;
  if (record.key() == build.key) return record;
  // The manifest has the closures of all builds with this fingerprint, also of other users. Only
  // the closure of this build goes into the record.
  const Digest manifest_key = ManifestKey(build.fingerprint);
  for (const ArtifactPtr& entry : {FindOwn(owner, manifest_key), FindShared(manifest_key)}) {
    if (entry == nullptr) continue;
    auto manifest = ManifestIn(*entry);
    if (!manifest) continue;
    for (KnownClosure& known : manifest->closures) {
      if (known.shows_paths || KeyOf(build.fingerprint, known.closure) != build.key) continue;
      record.closure = std::move(known.closure);
      return record;
    }
  }
  return std::nullopt;
}

ArtifactPtr NodeSnapshots::FindOwn(std::optional<uid_t> owner, const Digest& key) {
  return owner ? parts_.own.Get(*owner, key).artifact : nullptr;
}

ArtifactPtr NodeSnapshots::FindShared(const Digest& key) {
  for (Tier* tier : parts_.tiers) {
    if (ArtifactPtr artifact = tier->Get(key)) return artifact;
  }
  return nullptr;
}

Result<std::unique_ptr<IncomingSnapshot>> NodeSnapshots::Receive(SnapshotCaller caller) {
  const Peer& peer = caller.peer;
  if (peer.uid == kOverflowUid) {
    return Error{ErrorCode::kDenied,
                 "uid 65534 stands for many users, so nothing is kept for it alone"};
  }
  const std::optional<uid_t> owner = OwnerFor(peer);
  const uint64_t limit = owner ? parts_.own.limit_bytes() : parts_.shared_limit;
  const DepositLimits& deposits = parts_.deposits.options().limits;
  ReceivedSnapshot::Options options{
      .limit_bytes = limit,
      .deposit_limit_bytes = std::min(deposits.bytes_per_uid, deposits.bytes),
      .shared = !owner};
  Result<std::shared_ptr<void>> place = TakePlace(caller);
  if (!place) return place.error();
  options.place = *std::move(place);
  const uint64_t generation =
      owner ? parts_.own.NextGeneration(*owner, std::chrono::system_clock::now()) : 0;
  options.keep = [this, owner, generation](const ArtifactRecord& record) {
    return Keep(owner, generation, record);
  };
  options.keep_deposit = [this, uid = peer.uid](const DepositCopy& copy) {
    return KeepDeposit(uid, copy);
  };
  options.caller = std::move(caller);
  Result<SpoolFile> file = SpoolFile::Create(parts_.directory);
  if (!file) return file.error();
  return std::unique_ptr<IncomingSnapshot>(
      std::make_unique<ReceivedSnapshot>(*std::move(file), std::move(options)));
}

Result<Inserted> NodeSnapshots::Keep(std::optional<uid_t> owner, uint64_t generation,
                                     const ArtifactRecord& record) {
  if (!owner) {
    parts_.await_room();
    return parts_.cache.Insert(record.fingerprint, record.closure, record.artifact);
  }
  return parts_.cache.InsertFor(*owner, record.fingerprint, record.closure, record.artifact,
                                generation);
}

Result<Inserted> NodeSnapshots::KeepDeposit(uid_t uid, const DepositCopy& copy) {
  parts_.await_room();
  return parts_.deposits.Insert(uid, copy.name_space, copy.fields, copy.contents);
}

}  // namespace cccl_cache::daemon
