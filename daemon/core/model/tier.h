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

/// The places where artifacts are stored. The values are stored and sent over the wire: they never
/// change, and equal those in build.proto. kArena is reserved for a later tier. 5 is used by the C
/// client for the cache in its own process.
enum class TierName : uint8_t {
  kNone = 0,
  kMemory = 1,
  kDisk = 2,
  kRemote = 3,  ///< the Redis servers that nodes share
  kArena = 4,
  kShelf = 6,  ///< a directory of signed snapshots, which daemons read in place
};

/// What a look-up of one artifact in a tier found. The values are sent over the wire: they never
/// change, and equal those in admin.proto.
enum class TierFinding : uint8_t {
  kHasIt = 1,
  kNoEntry = 2,
  kRefused = 3,        ///< the tier has an entry that was not accepted; `reason` says why
  kNoAnswer = 4,       ///< the tier did not answer in the time that a build waits; `reason` says
                       ///< why
  kNotConnected = 5,   ///< the tier can't be reached; `reason` says why, and what the user can do
  kNotConfigured = 6,  ///< the daemon has no such tier
  kNotAsked = 7,       ///< the tier was not asked; `reason` says why
};

/// What one tier answered, as a part of an explanation.
struct TierLook {
  TierName tier = TierName::kNone;
  TierFinding finding = TierFinding::kNoEntry;
  std::string reason = {};
};

/// A cache of artifacts. A tier verifies all bytes that come from outside the process. Bytes that
/// fail verification count as a miss. Implementations are thread-safe.
class Tier {
 public:
  virtual ~Tier() = default;

  virtual TierName name() const = 0;
  /// Returns the artifact. Returns null on a miss, and never an error. An entry that can't be read
  /// or fails verification is a miss. It is counted in the statistics and dropped.
  virtual ArtifactPtr Get(const Digest& key) = 0;
  /// Returns whether Get would probably find the artifact. Does not read or verify it, and does not
  /// count as a use.
  virtual bool Holds(const Digest& key) = 0;
  /// Stores the artifact if there is room. Does not wait for a disk.
  virtual void Put(const Digest& key, ArtifactPtr artifact) = 0;
  /// Drops an entry because it is wrong. Does not wait for a disk.
  virtual void Remove(const Digest& key) = 0;
};

/// The present size of a tier or another store.
struct TierSize {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

/// Stores small values across restarts, for example counters. Values are never evicted. So it must
/// not be used for values whose number a client can raise. Thread-safe.
class MetaStore {
 public:
  virtual ~MetaStore() = default;

  virtual std::optional<std::string> GetMeta(std::string_view name) = 0;
  /// Stores the value. Does not wait for the disk: the value is written later.
  virtual void PutMeta(std::string_view name, std::string_view value) = 0;
};

/// Returns the tiers before the first tier that waits for a disk.
[[nodiscard]] inline std::vector<Tier*> MemoryTiers(const std::vector<Tier*>& tiers) {
  const auto waits = [](const Tier* tier) { return tier->name() == TierName::kDisk; };
  return {tiers.begin(), std::ranges::find_if(tiers, waits)};
}

/// The artifacts and manifests that single users have inserted. Only the user who has inserted an
/// entry gets it. Thread-safe.
class PrivateEntries {
 public:
  /// An entry counts as at least this many bytes, because the keys of all entries are in memory.
  static constexpr uint64_t kLeastCharge = 16 << 10;

  struct Found {
    /// Null on a miss. An entry that fails verification is a miss. It is counted in the statistics
    /// and dropped.
    ArtifactPtr artifact;
    TierName tier = TierName::kNone;
  };

  virtual ~PrivateEntries() = default;

  /// Returns whether the user may have an entry with this key. If not, Get need not be called. Very
  /// fast, because each look-up calls it.
  virtual bool MayHave(uid_t uid, const Digest& key) = 0;
  virtual Found Get(uid_t uid, const Digest& key) = 0;
  /// Like Get, but does not read the disk. If it finds nothing, Get may still find the entry.
  virtual Found FindInMemory(uid_t uid, const Digest& key) = 0;

  /// Returns the maximum number of bytes of one user's entries.
  [[nodiscard]] virtual uint64_t limit_bytes() const = 0;
  /// Returns the number of an insertion (of many entries) that begins now. It is greater than that
  /// of each earlier insertion of this user, even if the clock was set back.
  virtual uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) = 0;
  /// Stores the entry, and replaces an entry with the same key. To make room, drops entries of
  /// earlier insertions of this user, the oldest insertion first. Returns kOverloaded if there is
  /// still no room, and kUnavailable if the disk fails. Waits for the disk.
  virtual Result<Inserted> Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                               uint64_t generation) = 0;
};

/// A build of which a user got the result. Contains what filters need, and no file names or texts.
struct AnsweredBuild {
  Digest key;
  Digest fingerprint;
  Digest toolchain;
  std::string toolchain_version;
  std::string arch;                 ///< the architecture, such as "sm_90"; empty if no option names
                                    ///< one
  std::chrono::sys_seconds last{};  ///< when the user last got the result

  bool operator==(const AnsweredBuild&) const = default;
};

/// Records which artifacts each user got, also across restarts. A user may export only these
/// artifacts. The number of records of each user and in total is limited: the oldest are dropped.
/// Thread-safe.
class AnsweredBuilds {
 public:
  virtual ~AnsweredBuilds() = default;

  /// Records that the user got a result. Does not wait for a disk. Records nothing for the overflow
  /// uid, which many people may have.
  virtual void Note(uid_t uid, AnsweredBuild build) = 0;

  /// Returns the builds of this user in the order of their keys. Reads the disk.
  virtual std::vector<AnsweredBuild> Of(uid_t uid) = 0;
  /// Returns whether the user got the artifact with this key. Reads one record from the disk.
  virtual bool Has(uid_t uid, const Digest& key) = 0;
  /// Returns the lowest keys of this user that begin with the prefix, at most `most` of them. Reads
  /// only their records from the disk.
  virtual std::vector<Digest> KeysWith(uid_t uid, const DigestPrefix& prefix, size_t most) = 0;
  /// Returns the uids that have records, in ascending order. Reads the disk.
  virtual std::vector<uid_t> Users() = 0;
};

}  // namespace cccl_cache::daemon
