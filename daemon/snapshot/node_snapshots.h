// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/core/answered_builds.h"
#include "daemon/core/snapshots.h"
#include "daemon/core/tier.h"
#include "daemon/snapshot/artifact_record.h"
#include "daemon/snapshot/chosen_builds.h"

namespace cccl_cached {

/// The snapshots of this daemon's store. Thread-safe.
class NodeSnapshots final : public Snapshots {
 public:
  /// All must outlive the object.
  struct Parts {
    AnsweredBuilds& answered;
    std::vector<Tier*> tiers;  ///< what all users share, in the order in which it is asked
  };

  explicit NodeSnapshots(Parts parts) : parts_(std::move(parts)) {}

  Result<SnapshotSummary> Create(const Peer& peer, const SnapshotFilter& filter,
                                 const Sink& sink) override;

 private:
  /// None: it is not kept any more, or nothing would find it.
  [[nodiscard]] std::optional<ArtifactRecord> RecordOf(const ChosenBuild& chosen);
  [[nodiscard]] ArtifactPtr Find(const cccl_cache::Digest& key);

  const Parts parts_;
};

}  // namespace cccl_cached
