// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

struct Manifest;

/// The kinds of entries that nodes share. Stored and signed: values never change.
enum class EntryKind : uint8_t { kArtifact = 1, kManifest = 2, kDeposit = 3 };

/// The name of an entry that nodes share.
struct EntryName {
  EntryKind kind = EntryKind::kArtifact;
  Digest key;
  Digest toolchain;
};

/// An entry that nodes share: its name says which of these it has. Empty: there is none. Immutable.
struct SharedEntry {
  ArtifactPtr artifact = nullptr;
  std::shared_ptr<const Manifest> manifest = nullptr;    ///< names no user
  std::shared_ptr<const std::string> deposit = nullptr;  ///< its contents, for a group

  explicit operator bool() const {
    return artifact != nullptr || manifest != nullptr || deposit != nullptr;
  }
};

/// The connection to the other nodes, for statistics.
struct ClusterGauges {
  size_t nodes = 1;             ///< servers of Redis that share the keys
  size_t connected = 0;         ///< number of connected servers
  std::string address;          ///< for display; never empty
  std::string problem;          ///< why a server is not connected, with the remedy; empty if all
                                ///< are
  bool signs = false;           ///< whether this node has a key and shares its results
  size_t trusted_keys = 0;      ///< number of keys whose entries this node accepts
  bool trusts_own_key = false;  ///< whether this node's own key is one of them
  size_t leases = 0;            ///< number of leases of this node
  /// Offset of this node's clock to the shared clock, positive if ahead. None if unknown.
  std::optional<std::chrono::milliseconds> clock_ahead;
  uint64_t unanswered = 0;       ///< number of commands
  uint64_t unsent_bytes = 0;     ///< of the commands
  uint64_t unwritten_bytes = 0;  ///< of the entries in the queue
};

/// The contents of all shelves, for statistics.
struct ShelfGauges {
  size_t shelves = 0;
  size_t snapshots = 0;  ///< number of usable snapshots
  uint64_t entries = 0;
  size_t problems = 0;              ///< number of unusable snapshots and shelves
  size_t silent = 0;                ///< number of shelves that do not answer
  std::chrono::seconds silence{0};  ///< the longest time that a shelf has not answered
};

/// The results of other nodes, and their compiles in progress. No call blocks. Thread-safe.
class Cluster {
 public:
  /// The entries that one place has, of those in a question.
  struct Found {
    TierName tier = TierName::kNone;
    std::vector<SharedEntry> entries;  ///< one per requested entry
  };
  struct Question {
    std::vector<EntryName> entries;  ///< all entries that may serve this compile
    Account account{0};              ///< of the first user of the build
    /// The name of the compile on all nodes. None for a compile of this node alone, which does not
    /// wait for other nodes.
    std::optional<Digest> compile;
    std::chrono::steady_clock::time_point since;  ///< time of the build's first question
    /// Maximum duration of recent compiles of this kind; 0 if unknown. Limits the wait for an
    /// answer and for another node's compile.
    std::chrono::microseconds usual_time{0};
    /// Only for Peek: whether to count the result in the statistics, because the caller uses it.
    bool counted = false;
  };
  /// The callbacks of a question, on the cluster's threads, never under its locks. `found` and
  /// `compile` may run at the same time. None starts after the end of the question, and none runs
  /// after Close.
  struct Asker {
    /// Receives at least one found entry. Returns whether it serves the build. Also called after
    /// `compile`, for a late answer.
    std::function<bool(const Found&)> found;
    /// Called at most once: this node must compile, because there is no entry, no answer came in
    /// time, or another node's compile took too long.
    std::function<void()> compile;
    /// Called at most once, while this node waits for another node's compile: that compile depends
    /// on files of this uid, so other users must stop waiting for it.
    std::function<void(uid_t)> looks_outside;
  };

  /// The answer to Peek().
  struct Peeked {
    std::vector<TierLook> before = {};  ///< tiers that were asked before and lack the entry
    TierName tier = TierName::kRemote;
    /// kHasIt: the first requested entry exists and is in `found`. kRefused: one of the entries was
    /// refused.
    TierFinding finding = TierFinding::kNoEntry;
    std::string reason = {};
    std::vector<SharedEntry> found = {};  ///< as for Asker::found; may be empty
  };

  virtual ~Cluster() = default;

  /// Asks for the entries, and for the lease to compile, which lasts until the question ends.
  /// Returns false, and calls nothing, if no other node can be reached now. `ended` is stopped when
  /// the build has its result or needs none.
  virtual bool Ask(Question question, const std::stop_token& ended, Asker asker) = 0;
  /// Looks the entries up for a build that may not be compiled. Waits as long as for another build,
  /// and takes no lease. `told` is called once: at once, or on a thread of the cluster, but not
  /// after Close has returned.
  virtual void Peek(Question question, std::function<void(Peeked)> told) = 0;
  /// Informs the nodes that wait for this node's compile (Question::compile) that it depends on
  /// files of one user. The overflow uid stands for a user of this node alone.
  virtual void LooksOutside(const Digest& compile, uid_t uid) = 0;
  /// Sends an entry to the other nodes. The entry may be dropped. `account` is that of the user
  /// whose build made it.
  virtual void Share(const EntryName& name, const SharedEntry& entry, Account account) = 0;
  /// Removes a shared entry, unless other nodes have copied it. The removal may be late or fail.
  virtual void Forget(const EntryName& name) = 0;
  /// Returns when no callback runs or will run.
  virtual void Close() = 0;
};

}  // namespace cccl_cache::daemon
