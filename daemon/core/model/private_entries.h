// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/inserted.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Artifacts and manifests that belong to one user, who inserted them and alone is answered with
/// them. Thread-safe.
class PrivateEntries {
 public:
  struct Found {
    ArtifactPtr artifact;  ///< null: a miss; what does not verify is one too, counted and dropped
    TierName tier = TierName::kNone;
  };

  virtual ~PrivateEntries() = default;

  /// Whether Get may find something. A wrong yes is possible where memory does not know. Costs next
  /// to nothing: asked at each look-up.
  virtual bool MayHave(uid_t uid, const cccl_cache::Digest& key) = 0;
  virtual Found Get(uid_t uid, const cccl_cache::Digest& key) = 0;
  /// The same without a look at the disk: what it finds nothing of, Get may find.
  virtual Found GetAtOnce(uid_t uid, const cccl_cache::Digest& key) = 0;

  /// What one user may have, all entries together.
  [[nodiscard]] virtual uint64_t limit_bytes() const = 0;
  /// The number of an insertion that begins now: greater than that of each earlier one of this
  /// user, whatever the clock says. Reads the disk.
  virtual uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) = 0;
  /// Keeps the entry, in place of one of this key; what the user inserted in the oldest
  /// generations, all of them before this one, goes for it, the oldest first. kOverloaded: there is
  /// no room; kUnavailable: the disk refused. Waits for the disk.
  virtual Result<Inserted> Put(uid_t uid, const cccl_cache::Digest& key,
                               const ArtifactPtr& artifact, uint64_t generation) = 0;
};

}  // namespace cccl_cache::daemon
