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

/// Limits how many accounts use snapshots at once: one place per account, and `count` in all.
/// Places are given in order of arrival, so that no account starves. Thread-safe; must outlive the
/// places that it gave.
class Places {
 public:
  explicit Places(uint64_t count) : allowance_{.per_account = 1, .in_all = count} {}

  /// Waits for a place. It is released with the last copy of the pointer. kOverloaded: this account
  /// waits for a place already; kCancelled: the caller left.
  [[nodiscard]] Result<std::shared_ptr<void>> Take(Account account, const std::stop_token& left);

 private:
  [[nodiscard]] bool IsNext(Account account) const REQUIRES(mutex_);
  void GiveBack(Account account);

  const Allowance allowance_;
  Mutex mutex_;
  CondVar changed_;
  std::list<Account> waiting_ GUARDED_BY(mutex_);  ///< in order, each account once
  std::set<Account> inside_ GUARDED_BY(mutex_);
};

/// The snapshots of this daemon's store. Thread-safe.
class NodeSnapshots final : public Snapshots {
 public:
  /// All must outlive the object.
  struct Parts {
    AnsweredBuilds& answered;
    PrivateEntries& own;
    BuildCache& cache;
    Deposits& deposits;
    std::vector<Tier*> tiers;  ///< tiers that all users share, in the order in which they are asked
    std::string directory;     ///< the daemon's own, for snapshots that are being received
    uint64_t shared_limit = 0;         ///< bytes that may be inserted for all users at once
    std::function<void()> await_room;  ///< returns once the last tier has room for much more
  };

  explicit NodeSnapshots(Parts parts) : parts_(std::move(parts)) {}

  Result<SnapshotSummary> Create(const SnapshotCaller& caller, const SnapshotFilter& filter,
                                 const Sink& sink) override;
  Result<std::unique_ptr<IncomingSnapshot>> Receive(SnapshotCaller caller) override;

 private:
  /// A record as stored in the file.
  struct Packed {
    SnapshotItem item;
    std::string stored;
  };
  /// Returns none if the record was dropped meanwhile, or is too large.
  [[nodiscard]] Result<std::optional<Packed>> Pack(const SnapshotCaller& caller,
                                                   const AnsweredBuild& build);
  [[nodiscard]] Result<std::optional<Packed>> Pack(const SnapshotCaller& caller,
                                                   const ChosenDeposit& deposit);
  /// Returns none if the record was dropped meanwhile, or no look-up would find it. `owner`: the
  /// user whose private entries are searched besides the shared ones.
  [[nodiscard]] std::optional<ArtifactRecord> RecordOf(std::optional<uid_t> owner,
                                                       const AnsweredBuild& build);
  [[nodiscard]] ArtifactPtr FindOwn(std::optional<uid_t> owner, const Digest& key);
  [[nodiscard]] ArtifactPtr FindShared(const Digest& key);
  [[nodiscard]] Result<Inserted> Keep(std::optional<uid_t> owner, uint64_t generation,
                                      const ArtifactRecord& record);
  [[nodiscard]] Result<Inserted> KeepDeposit(uid_t uid, const DepositCopy& copy);
  [[nodiscard]] Result<std::shared_ptr<void>> TakePlace(const SnapshotCaller& caller);

  const Parts parts_;
  // Each place may hold a file of the maximum size on the disk, and a record in memory.
  Places users_{5};           ///< one of them is for root and the daemon's user only
  Places administrators_{2};  ///< of their own, so that administrators never wait for other users
};

}  // namespace cccl_cache::daemon
