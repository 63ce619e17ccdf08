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
#include "daemon/core/model/tier_look.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The kinds of entries that nodes share. Stored and signed: values never change. A manifest's
/// bytes, and those of a deposit for a group, lie in the log of an artifact that has nothing else.
enum class EntryKind : uint8_t { kArtifact = 1, kManifest = 2, kDeposit = 3 };

/// Names one entry that nodes share.
struct SharedEntry {
  EntryKind kind = EntryKind::kArtifact;
  Digest key;
  Digest toolchain;
};

/// The connection to the other nodes, for statistics.
struct ClusterGauges {
  size_t nodes = 1;             ///< of the Redis cluster that have keys, as far as is known
  size_t connected = 0;         ///< of these
  std::string address;          ///< for people; never empty
  std::string problem;          ///< why one is not connected, with the way out; empty: all are
  bool signs = false;           ///< this node has a key, and gives what it compiles
  size_t trusted_keys = 0;      ///< whose entries this node takes
  bool trusts_own_key = false;  ///< that is, the key that it signs with is one of them
  size_t leases = 0;            ///< that this node holds
  /// How far this node's clock is ahead of the one that all nodes share; none: not known.
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

/// The other nodes, which compile the same: what they compiled, and what they are compiling now.
/// Nothing blocks. Thread-safe.
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
    /// The name of the compile on all nodes. None: it is one of this node alone, so that no
    /// other node's compile is waited for.
    std::optional<Digest> compile;
    std::chrono::steady_clock::time_point since;  ///< when the build first asked for anything
    /// How long compiles of this kind took at most, lately; 0: unknown. Bounds how long a build
    /// waits for an answer, and for the compile of another node.
    std::chrono::microseconds usual_time{0};
    /// Of Peek: what it finds is used, so it counts as if it had been asked for.
    bool counted = false;
  };
  /// Run on threads of the cluster's, never under a lock of it; `found` and `compile` may run at
  /// the same time. They may run until the question has ended, and not once Close has returned.
  struct Asker {
    /// Takes what was found: at least one entry. Returns whether that serves the build. Also called
    /// after `compile`, if an answer comes late.
    std::function<bool(const Found&)> found;
    /// Called at most once: this node is to compile, because there is nothing, because there was no
    /// answer in time, or because another node's compile took too long.
    std::function<void()> compile;
    /// Called at most once, while this node waits for another one's compile: that waits for files
    /// of this uid, so no other user is to wait for it any longer.
    std::function<void(uid_t)> looks_outside;
  };

  /// The answer to Peek().
  struct Peeked {
    std::vector<TierLook> before = {};  ///< of tiers that were asked first and do not have it
    TierName tier = TierName::kRemote;
    /// kHasIt: the first entry asked for is there, and in `found`. kRefused: one of them is not
    /// taken.
    TierFinding finding = TierFinding::kNoEntry;
    std::string reason = {};
    std::vector<ArtifactPtr> found = {};  ///< as Asker::found takes it; may be empty
  };

  virtual ~Cluster() = default;

  /// Asks for the entries, and for the right to compile, which lasts until the question ends.
  /// Returns false, and calls nothing, if no other node can be reached now. `ended`: requested when
  /// the build has its result or needs none.
  virtual bool Ask(Question question, const std::stop_token& ended, Asker asker) = 0;
  /// Looks whether the entries are there, for a build that is not to be compiled: waits as long as
  /// another build would, and takes no lease. `told` is called once: at once, or on a thread of the
  /// cluster's, and then not after Close has returned.
  virtual void Peek(Question question, std::function<void(Peeked)> told) = 0;
  /// Tells nodes that wait for a compile of this node, by Question::compile, that it waits for
  /// files of one user. The overflow uid: of a user that no other node has.
  virtual void LooksOutside(const Digest& compile, uid_t uid) = 0;
  /// Gives an entry to the other nodes. It may be dropped.
  /// `account`: that of the user whose build made it.
  virtual void Share(const SharedEntry& entry, const ArtifactPtr& artifact, Account account) = 0;
  /// Takes an entry back, as far as other nodes have not taken it. Done later, or not at all.
  virtual void Forget(const SharedEntry& entry) = 0;
  /// Returns once no asker is called any more.
  virtual void Close() = 0;
};

}  // namespace cccl_cache::daemon
