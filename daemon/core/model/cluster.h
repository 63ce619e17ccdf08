// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The kinds of entries that nodes share. Stored and signed: values never change. The bytes of a
/// manifest, and of a group's deposit, are the log of an otherwise empty artifact.
enum class EntryKind : uint8_t { kArtifact = 1, kManifest = 2, kDeposit = 3 };

/// Names one entry that nodes share.
struct SharedEntry {
  EntryKind kind = EntryKind::kArtifact;
  Digest key;
  Digest toolchain;
};

/// The connection to the other nodes, for statistics.
struct ClusterGauges {
  size_t nodes = 1;             ///< servers of Redis that share the keys
  size_t connected = 0;         ///< of these
  std::string address;          ///< for people; never empty
  std::string problem;          ///< why one is not connected, with the way out; empty: all are
  bool signs = false;           ///< this node has a key, and shares its results
  size_t trusted_keys = 0;      ///< whose entries this node takes
  bool trusts_own_key = false;  ///< the key that it signs with is one of them
  size_t leases = 0;            ///< that this node holds
  /// Offset of this node's clock to the shared one; positive: ahead; none: unknown.
  std::optional<std::chrono::milliseconds> clock_ahead;
  uint64_t unanswered = 0;       ///< commands
  uint64_t unsent_bytes = 0;     ///< of commands
  uint64_t unwritten_bytes = 0;  ///< of entries that are to be written
};

/// The contents of all shelves, for statistics.
struct ShelfGauges {
  size_t shelves = 0;
  size_t snapshots = 0;  ///< that are used
  uint64_t entries = 0;
  size_t problems = 0;              ///< snapshots and shelves that can't be used
  size_t silent = 0;                ///< shelves that do not answer
  std::chrono::seconds silence{0};  ///< how long the longest of these has not answered
};

/// The results of other nodes, and their compiles in progress. Nothing blocks. Thread-safe.
class Cluster {
 public:
  /// The entries of a question that one place has.
  struct Found {
    TierName tier = TierName::kNone;
    std::vector<ArtifactPtr> entries;  ///< one for each that was asked for; null: it has none
  };
  struct Question {
    std::vector<SharedEntry> entries;  ///< each that may serve this compile
    Account account{0};                ///< of the user who asked first
    /// The name of the compile on all nodes. None: a compile of this node alone, which waits for no
    /// other node's.
    std::optional<Digest> compile;
    std::chrono::steady_clock::time_point since;  ///< when the build first asked for anything
    /// Maximum duration of recent compiles of this kind; 0: unknown. Bounds the wait for an answer,
    /// and for another node's compile.
    std::chrono::microseconds usual_time{0};
    /// Peek only: count the result in the statistics, because the caller uses it.
    bool counted = false;
  };
  /// Callbacks on the cluster's threads, never under its locks. `found` and `compile` may run at
  /// the same time. None starts after the question has ended, and none runs after Close.
  struct Asker {
    /// Receives at least one found entry. Returns whether it serves the build. Also called after
    /// `compile`, for a late answer.
    std::function<bool(const Found&)> found;
    /// Called at most once: this node must compile, because there is no entry, no answer came in
    /// time, or another node's compile took too long.
    std::function<void()> compile;
    /// Called at most once, while this node waits for another one's compile: that compile depends
    /// on files of this uid, so other users must stop waiting for it.
    std::function<void(uid_t)> looks_outside;
  };

  /// The answer to Peek().
  struct Peeked {
    std::vector<TierLook> before = {};  ///< tiers that were asked first and lack it
    TierName tier = TierName::kRemote;
    /// kHasIt: the first requested entry exists, and is in `found`. kRefused: one of them was
    /// refused.
    TierFinding finding = TierFinding::kNoEntry;
    std::string reason = {};
    std::vector<ArtifactPtr> found = {};  ///< as Asker::found takes it; may be empty
  };

  virtual ~Cluster() = default;

  /// Asks for the entries, and for the lease to compile, which lasts until the question ends.
  /// Returns false, and calls nothing, if no other node can be reached now. `ended`: stopped when
  /// the build has its result or needs none.
  virtual bool Ask(Question question, const std::stop_token& ended, Asker asker) = 0;
  /// Looks the entries up for a build that may not be compiled: waits as long as for another build,
  /// and takes no lease. `told` is called once: at once, or on a thread of the cluster's, but not
  /// after Close has returned.
  virtual void Peek(Question question, std::function<void(Peeked)> told) = 0;
  /// Informs nodes that wait for this node's compile (Question::compile) that it depends on files
  /// of one user. The overflow uid: a user of this node alone.
  virtual void LooksOutside(const Digest& compile, uid_t uid) = 0;
  /// Sends an entry to the other nodes. It may be dropped. `account`: of the user whose build made
  /// it.
  virtual void Share(const SharedEntry& entry, const ArtifactPtr& artifact, Account account) = 0;
  /// Removes a shared entry, unless other nodes have copied it. Done later, or not at all.
  virtual void Forget(const SharedEntry& entry) = 0;
  /// Returns once no asker is called any more.
  virtual void Close() = 0;
};

}  // namespace cccl_cache::daemon
