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

/// Stored and sent: values never change, and equal those in build.proto. kArena is reserved for a
/// later tier. 5 is the C client's cache in its own process.
enum class TierName : uint8_t {
  kNone = 0,
  kMemory = 1,
  kDisk = 2,
  kRemote = 3,  ///< the Redis that nodes share
  kArena = 4,
  kShelf = 6,  ///< a directory of signed snapshots
};

/// The result of a look-up of one artifact in a tier. Sent: values never change, and equal those in
/// admin.proto.
enum class TierFinding : uint8_t {
  kHasIt = 1,
  kNoEntry = 2,
  kRefused = 3,        ///< its entry was refused; `reason` says why
  kNoAnswer = 4,       ///< no answer within the time that a build waits; `reason` says why
  kNotConnected = 5,   ///< `reason` says why, with the remedy
  kNotConfigured = 6,  ///< there is no such tier
  kNotAsked = 7,       ///< `reason` says why
};

/// One tier's finding in an explanation.
struct TierLook {
  TierName tier = TierName::kNone;
  TierFinding finding = TierFinding::kNoEntry;
  std::string reason = {};
};

/// A cache of artifacts. Implementations are thread-safe. A tier verifies bytes from outside the
/// process. Bytes that do not verify count as a miss.
class Tier {
 public:
  virtual ~Tier() = default;

  virtual TierName name() const = 0;
  /// Returns the artifact, or null on a miss; never an error. An entry that can't be read or does
  /// not verify is a miss, and is counted and dropped.
  virtual ArtifactPtr Get(const Digest& key) = 0;
  /// Returns whether Get would probably find the key. Reads no artifact, verifies nothing, and does
  /// not count as a use of the entry.
  virtual bool Holds(const Digest& key) = 0;
  /// Keeps the artifact if it can. Never waits for a disk.
  virtual void Put(const Digest& key, ArtifactPtr artifact) = 0;
  /// Drops a wrong entry. Never waits for a disk.
  virtual void Remove(const Digest& key) = 0;
};

/// The present size of a tier.
struct TierSize {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

/// Stores small values across restarts: toolchain stamps, counters. Not for values whose number a
/// client can raise, because nothing is evicted. Thread-safe.
class MetaStore {
 public:
  virtual ~MetaStore() = default;

  virtual std::optional<std::string> GetMeta(std::string_view name) = 0;
  /// Writes the value later, like artifacts: the call does not wait for the disk.
  virtual void PutMeta(std::string_view name, std::string_view value) = 0;
};

/// Returns the tiers before the first tier that waits for a disk.
[[nodiscard]] inline std::vector<Tier*> MemoryTiers(const std::vector<Tier*>& tiers) {
  const auto waits = [](const Tier* tier) { return tier->name() == TierName::kDisk; };
  return {tiers.begin(), std::ranges::find_if(tiers, waits)};
}

/// Artifacts and manifests that one user has inserted. Only that user gets them. Thread-safe.
class PrivateEntries {
 public:
  /// Minimum charge of an entry in bytes, as for a deposit, because all keys are in memory.
  static constexpr uint64_t kLeastCharge = 16 << 10;

  struct Found {
    /// Null on a miss. An entry that does not verify is a miss, and is counted and dropped.
    ArtifactPtr artifact;
    TierName tier = TierName::kNone;
  };

  virtual ~PrivateEntries() = default;

  /// Returns whether Get may find something. Very fast, because each look-up calls it.
  virtual bool MayHave(uid_t uid, const Digest& key) = 0;
  virtual Found Get(uid_t uid, const Digest& key) = 0;
  /// As Get, but does not read the disk, so Get may find more.
  virtual Found FindInMemory(uid_t uid, const Digest& key) = 0;

  /// Returns the limit of the bytes of all entries of one user.
  [[nodiscard]] virtual uint64_t limit_bytes() const = 0;
  /// Returns the generation of an insertion that begins now. It is greater than that of each
  /// earlier insertion of this user, even if the clock was set back.
  virtual uint64_t NextGeneration(uid_t uid, std::chrono::system_clock::time_point now) = 0;
  /// Stores the entry, and replaces an older entry with this key. To make room, entries of the
  /// user's earlier generations are evicted, the oldest generation first. kOverloaded: there is no
  /// room. kUnavailable: the disk refused. Waits for the disk.
  virtual Result<Inserted> Put(uid_t uid, const Digest& key, const ArtifactPtr& artifact,
                               uint64_t generation) = 0;
};

/// A user's answered build by its key, with the properties for filters. Contains no names of files
/// and no texts.
struct AnsweredBuild {
  Digest key;
  Digest fingerprint;
  Digest toolchain;
  std::string toolchain_version;
  std::string arch;                 ///< "sm_90"; empty if the options named none
  std::chrono::sys_seconds last{};  ///< time of its last answer

  bool operator==(const AnsweredBuild&) const = default;
};

/// Records the artifacts that each user has got, which are the only artifacts that the user may
/// export. Survives a restart. Limited for each user and in total: the oldest records are evicted.
/// Thread-safe.
class AnsweredBuilds {
 public:
  virtual ~AnsweredBuilds() = default;

  /// Records an answer. Waits for no disk. Nothing is recorded for the overflow uid, which stands
  /// for many users.
  virtual void Note(uid_t uid, AnsweredBuild build) = 0;

  /// Returns one user's builds, ascending by key. Reads the disk.
  virtual std::vector<AnsweredBuild> Of(uid_t uid) = 0;
  /// Returns whether the user has got this key. Reads the disk once.
  virtual bool Has(uid_t uid, const Digest& key) = 0;
  /// Returns the lowest of the user's keys with this prefix, at most `most`. Reads no other rows.
  virtual std::vector<Digest> KeysWith(uid_t uid, const DigestPrefix& prefix, size_t most) = 0;
  /// Returns the uids with any record, ascending. Reads the disk.
  virtual std::vector<uid_t> Users() = 0;
};

}  // namespace cccl_cache::daemon
