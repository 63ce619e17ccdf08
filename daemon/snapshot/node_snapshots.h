// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/core/model/tier.h"
#include "daemon/snapshot/records.h"
#include "daemon/snapshot/selection.h"
#include "proto/snapshot/snapshot.h"

namespace cccl_cache::daemon {

/// Limits how many accounts can create or receive a snapshot at one time: each account has at most
/// one place, and there are `count` in all. Accounts get places in the order of their requests, so
/// that none waits forever. Thread-safe. Must outlive the returned places.
class Places {
 public:
  explicit Places(uint64_t count) : allowance_{.per_account = 1, .in_all = count} {}

  /// Waits for a place. The place is released with the last copy of the returned pointer.
  /// kOverloaded: another call of this account is already waiting. kCancelled: `left` was
  /// requested.
  [[nodiscard]] Result<std::shared_ptr<void>> Take(Account account, const std::stop_token& left);

 private:
  [[nodiscard]] bool IsNext(Account account) const REQUIRES(mutex_);
  void GiveBack(Account account);

  const Allowance allowance_;
  Mutex mutex_;
  CondVar changed_;
  std::list<Account> waiting_ GUARDED_BY(mutex_);  ///< in the order of arrival
  std::set<Account> inside_ GUARDED_BY(mutex_);
};

/// Creates snapshots of this daemon's store, and inserts received ones into it. Thread-safe.
class NodeSnapshots final : public Snapshots {
 public:
  /// The objects and functions that NodeSnapshots uses. All must outlive it.
  struct Parts {
    AnsweredBuilds& answered;
    PrivateEntries& own;
    BuildCache& cache;
    Deposits& deposits;
    std::vector<Tier*> tiers;   ///< tiers that all users share, in the order of their look-ups
    std::string directory;      ///< private directory for snapshots while they are received
    uint64_t shared_limit = 0;  ///< maximum bytes of one snapshot for all users
    std::function<void()> await_room;  ///< waits until the last tier has room for many entries
  };

  explicit NodeSnapshots(Parts parts) : parts_(std::move(parts)) {}

  Result<SnapshotSummary> Create(const SnapshotCaller& caller, const SnapshotFilter& filter,
                                 const Sink& sink) override;
  Result<std::unique_ptr<IncomingSnapshot>> Receive(SnapshotCaller caller) override;

 private:
  /// A record of a snapshot: its line in the index, and its compressed bytes.
  struct Packed {
    SnapshotItem item;
    std::string stored;
  };
  /// Returns the record for the build. Returns none if its artifact was removed meanwhile, or if
  /// the record is too large.
  [[nodiscard]] Result<std::optional<Packed>> Pack(const SnapshotCaller& caller,
                                                   const AnsweredBuild& build);
  [[nodiscard]] Result<std::optional<Packed>> Pack(const SnapshotCaller& caller,
                                                   const ChosenDeposit& deposit);
  /// Returns the record of the build. Returns none if the artifact was removed meanwhile, or if no
  /// closure leads to its key, so that no build would find it. If `owner` is set, the private
  /// entries of this user are searched before the shared ones.
  [[nodiscard]] std::optional<ArtifactRecord> RecordOf(std::optional<uid_t> owner,
                                                       const AnsweredBuild& build);
  [[nodiscard]] ArtifactPtr FindOwn(std::optional<uid_t> owner, const Digest& key);
  [[nodiscard]] ArtifactPtr FindShared(const Digest& key);
  [[nodiscard]] Result<Inserted> Keep(std::optional<uid_t> owner, uint64_t generation,
                                      const ArtifactRecord& record);
  [[nodiscard]] Result<Inserted> KeepDeposit(uid_t uid, const DepositCopy& copy);
  [[nodiscard]] Result<std::shared_ptr<void>> TakePlace(const SnapshotCaller& caller);

  const Parts parts_;
  // A caller with a place may hold a file of the maximum size on the disk, and a record in memory.
  Places users_{5};           ///< one place is reserved for root and the daemon's own user
  Places administrators_{2};  ///< separate, so that administrators never wait for other users
};

}  // namespace cccl_cache::daemon
