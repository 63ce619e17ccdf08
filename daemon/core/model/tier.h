// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Stored and sent: values never change; the same numbers as in build.proto. kRemote and kArena are
/// reserved, there are no such tiers yet; 5 is the C client's cache of its process.
enum class TierName : uint8_t { kNone = 0, kMemory = 1, kDisk = 2, kRemote = 3, kArena = 4 };

/// A place to look for artifacts. Implementations are thread-safe; bytes that come from outside the
/// process are verified here or count as a miss.
class Tier {
 public:
  virtual ~Tier() = default;

  virtual TierName name() const = 0;
  /// Null is a miss. Never an error: what can't be read or does not verify is a miss, counted and
  /// dropped.
  virtual ArtifactPtr Get(const Digest& key) = 0;
  /// Whether Get would probably find it: reads no artifact, verifies nothing, and is no use of it.
  virtual bool Holds(const Digest& key) = 0;
  /// Keeps the artifact if it can. Never waits for a disk.
  virtual void Put(const Digest& key, ArtifactPtr artifact) = 0;
  /// Forgets what is wrong. Never waits for a disk.
  virtual void Remove(const Digest& key) = 0;
};

/// What a tier holds now.
struct TierSize {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

/// Small facts that survive a restart: toolchain stamps, counters. Not for what a client can
/// multiply: nothing here is evicted. Thread-safe.
class MetaStore {
 public:
  virtual ~MetaStore() = default;

  virtual std::optional<std::string> GetMeta(std::string_view name) = 0;
  /// Written behind, like artifacts.
  virtual void PutMeta(std::string_view name, std::string_view value) = 0;
};

/// The tiers that come before the first one that keeps who asks it waiting, for a disk or for
/// another node.
[[nodiscard]] inline std::vector<Tier*> MemoryTiers(const std::vector<Tier*>& tiers) {
  const auto waits = [](const Tier* tier) {
    return tier->name() == TierName::kDisk || tier->name() == TierName::kRemote;
  };
  return {tiers.begin(), std::ranges::find_if(tiers, waits)};
}

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
  virtual bool MayHave(uid_t uid, const Digest& key) = 0;
  virtual Found Get(uid_t uid, const Digest& key) = 0;
  /// The same without a look at the disk: what it finds nothing of, Get may find.
  virtual Found FindInMemory(uid_t uid, const Digest& key) = 0;

  /// What one user may have, all entries together.
  [[nodiscard]] virtual uint64_t limit_bytes() const = 0;
  /// The number of an insertion that begins now: greater than that of each earlier one of this
  /// user, whatever the clock says. Reads the disk.
  virtual uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) = 0;
  /// Keeps the entry, in place of one of this key; what the user inserted in the oldest
  /// generations, all of them before this one, goes for it, the oldest first. kOverloaded: there is
  /// no room; kUnavailable: the disk refused. Waits for the disk.
  virtual Result<Inserted> Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                               uint64_t generation) = 0;
};

/// What a user was answered with, by its key: what it takes to find it again and to choose among
/// many. No names of files, no texts.
struct AnsweredBuild {
  Digest key;
  Digest fingerprint;
  Digest toolchain;
  std::string toolchain_version;
  std::string arch;                 ///< "sm_90"; empty: the options named none
  std::chrono::sys_seconds last{};  ///< when it was answered last

  bool operator==(const AnsweredBuild&) const = default;
};

/// Which artifacts each user was answered with, for those alone may a user export. Survives a
/// restart; bounded, each user's and all together: the oldest go. Thread-safe.
class AnsweredBuilds {
 public:
  virtual ~AnsweredBuilds() = default;

  /// Waits for no disk. Nothing is noted of the overflow uid, which stands for many users.
  virtual void Note(uid_t uid, AnsweredBuild build) = 0;

  /// One user's, ascending by key. Reads the disk.
  virtual std::vector<AnsweredBuild> Of(uid_t uid) = 0;
  /// Whether the user was answered with this one. Reads the disk, once.
  virtual bool Has(uid_t uid, const Digest& key) = 0;
  /// Who was answered with anything, ascending. Reads the disk.
  virtual std::vector<uid_t> Users() = 0;
};

}  // namespace cccl_cache::daemon
