// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/lease/deposits.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/core/model/tier.h"
#include "daemon/snapshot/artifact_record.h"
#include "daemon/snapshot/chosen_builds.h"
#include "daemon/snapshot/chosen_deposits.h"
#include "daemon/snapshot/deposit_copy.h"
#include "daemon/snapshot/places.h"
#include "proto/snapshot.h"

namespace cccl_cache::daemon {

/// The snapshots of this daemon's store. Thread-safe.
class NodeSnapshots final : public Snapshots {
 public:
  /// All must outlive the object.
  struct Parts {
    AnsweredBuilds& answered;
    PrivateEntries& own;
    BuildMemory& memory;
    Deposits& deposits;
    std::vector<Tier*> tiers;          ///< what all users share, in the order in which it is asked
    std::string directory;             ///< the daemon's own, for what is being received
    uint64_t shared_limit = 0;         ///< bytes that may be inserted for everybody at once
    std::function<void()> await_room;  ///< returns when the last tier takes much more
  };

  explicit NodeSnapshots(Parts parts) : parts_(std::move(parts)) {}

  Result<SnapshotSummary> Create(const SnapshotCaller& caller, const SnapshotFilter& filter,
                                 const Sink& sink) override;
  Result<std::unique_ptr<IncomingSnapshot>> Receive(SnapshotCaller caller) override;

 private:
  /// A record as it stands in the file.
  struct Packed {
    cccl_cache::SnapshotItem item;
    std::string stored;
  };
  /// None: it is not kept any more, or too large.
  [[nodiscard]] Result<std::optional<Packed>> Pack(const SnapshotCaller& caller,
                                                   const AnsweredBuild& build);
  [[nodiscard]] Result<std::optional<Packed>> Pack(const SnapshotCaller& caller,
                                                   const ChosenDeposit& deposit);
  /// None: it is not kept any more, or nothing would find it. `owner`: whose private entries count
  /// besides what all share.
  [[nodiscard]] std::optional<ArtifactRecord> RecordOf(std::optional<uid_t> owner,
                                                       const AnsweredBuild& build);
  [[nodiscard]] ArtifactPtr FindOwn(std::optional<uid_t> owner, const cccl_cache::Digest& key);
  [[nodiscard]] ArtifactPtr FindShared(const cccl_cache::Digest& key);
  [[nodiscard]] Result<Inserted> Keep(std::optional<uid_t> owner, uint64_t generation,
                                      const ArtifactRecord& record);
  [[nodiscard]] Result<Inserted> KeepDeposit(uid_t uid, const DepositCopy& copy);
  [[nodiscard]] Result<std::shared_ptr<void>> TakePlace(const SnapshotCaller& caller);

  const Parts parts_;
  // Each may have a file of the largest size on the disk, and a record in memory.
  Places users_{4};
  Places administrators_{2};  ///< never kept out by others
};

}  // namespace cccl_cache::daemon
