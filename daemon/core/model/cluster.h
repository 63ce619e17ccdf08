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

/// The kinds of entries that nodes share. The values are stored and signed, so they never change.
/// kLease is not an entry but a lease on a deposit, which is signed like one. kChunkList is the
/// list of a large deposit's chunks.
enum class EntryKind : uint8_t {
  kArtifact = 1,
  kManifest = 2,
  kDeposit = 3,
  kLease = 4,
  kChunkList = 5
};

/// The name of an entry that nodes share.
struct EntryName {
  EntryKind kind = EntryKind::kArtifact;
  Digest key;
  Digest toolchain;
};

/// An entry that nodes share. It has one of these contents; EntryName::kind says which one. Empty
/// if there is no entry. Immutable.
struct SharedEntry {
  ArtifactPtr artifact = nullptr;
  std::shared_ptr<const Manifest> manifest = nullptr;    ///< its closures have no owners, which are
                                                         ///< users of one node
  std::shared_ptr<const std::string> deposit = nullptr;  ///< the contents of a deposit of a group
  std::chrono::microseconds took{0};  ///< how long the deposit took to make; 0 if unknown

  explicit operator bool() const {
    return artifact != nullptr || manifest != nullptr || deposit != nullptr;
  }
};

/// The state of the connection to other nodes, for statistics. Nodes share entries in one or more
/// Redis servers.
struct ClusterGauges {
  size_t nodes = 1;             ///< number of Redis servers; each has a part of the keys
  size_t connected = 0;         ///< number of Redis servers that are connected
  std::string address;          ///< addresses of the servers, for display; never empty
  std::string problem;          ///< why a server is not connected, and the remedy; empty if all
                                ///< servers are connected
  bool signs = false;           ///< whether this node has a key and shares its results
  size_t trusted_keys = 0;      ///< number of keys whose entries this node accepts
  bool trusts_own_key = false;  ///< whether this node's own key is one of them
  size_t leases = 0;            ///< number of compiles for which this node holds a lease now
  /// How much this node's clock is ahead of the clock that all nodes share; negative if it is
  /// behind. None if unknown.
  std::optional<std::chrono::milliseconds> clock_ahead;
  uint64_t unanswered = 0;       ///< number of commands that no server has answered yet
  uint64_t unsent_bytes = 0;     ///< bytes of commands that have not been sent yet
  uint64_t unwritten_bytes = 0;  ///< bytes of entries that wait to be written
};

/// The state of all shelves (directories of signed snapshots), for statistics.
struct ShelfGauges {
  size_t shelves = 0;
  size_t snapshots = 0;  ///< number of snapshots that can be used
  uint64_t entries = 0;
  size_t problems = 0;              ///< number of unusable snapshots and shelves
  size_t silent = 0;                ///< number of shelves that do not answer
  std::chrono::seconds silence{0};  ///< how long a shelf has not answered; the longest such time
};

/// The results of other nodes and of shelves, and the compiles that other nodes run now. No
/// function blocks, except Close. Thread-safe.
class Cluster {
 public:
  /// The entries that one tier has.
  struct Found {
    TierName tier = TierName::kNone;
    std::vector<SharedEntry> entries;  ///< one for each entry of the question; it may be empty
  };
  struct Question {
    std::vector<EntryName> entries;  ///< the entries that may answer the build
    Account account{0};              ///< account of the user for whom the question is asked
    /// The name of the compile on all nodes, so that only one of them compiles. None for a compile
    /// that other nodes can't use; it does not wait for them.
    std::optional<Digest> compile;
    /// Whether this node may get the lease. Otherwise it only waits for another node that holds it.
    bool takes_lease = true;
    std::chrono::steady_clock::time_point since;  ///< when this build asked its first question
    /// For a deposit: how long the question waits at most for another node that makes it.
    std::chrono::milliseconds longest_wait{0};
    /// About the longest time that recent compiles of this kind took; 0 if unknown. It limits how
    /// long the question waits for an answer, and for another node's compile.
    std::chrono::microseconds usual_time{0};
    /// Only for Peek: whether to count the answer in the statistics. An explanation does not count.
    bool counted = false;
  };
  /// The callbacks of a question. They are called on threads of the cluster, without its locks.
  /// `found` and `compile` may run at the same time. No callback begins after the question has
  /// ended, and none runs after Close.
  struct Asker {
    /// Receives entries, at least one. Returns whether they answer the build. May also be called
    /// after `compile`, if an answer comes late.
    std::function<bool(const Found&)> found;
    /// Called at most once: this node must compile, or make the deposit. There is no entry, no
    /// answer came in time, or another node's compile takes too long.
    std::function<void()> compile;
    /// Called at most once, while this node waits for another node's compile: that compile reads
    /// files of this uid. So builds of other users must not wait for it any longer.
    std::function<void(uid_t)> looks_outside;
  };

  /// The answer to Peek().
  struct Peeked {
    std::vector<TierLook> before = {};  ///< tiers that were asked first and do not have the first
                                        ///< entry
    TierName tier = TierName::kRemote;
    /// kHasIt: the first entry of the question is in `found`. kRefused: an entry was not accepted,
    /// for example because its signature is wrong.
    TierFinding finding = TierFinding::kNoEntry;
    std::string reason = {};
    std::vector<SharedEntry> found = {};  ///< as in Found::entries; may be empty
  };

  virtual ~Cluster() = default;

  /// Asks for entries, and for the right that this node compiles, or makes the deposit (a lease).
  /// The lease ends with the question. Returns false, and calls no callback, if no other node can
  /// be asked now. A stop of `ended` ends the question: the build has its result, or its callers
  /// have left.
  virtual bool Ask(Question question, const std::stop_token& ended, Asker asker) = 0;
  /// Asks for entries for a build that must not be compiled. Asks for no lease. `told` is called
  /// once, during Peek or later on a thread of the cluster, as soon as there is an answer or the
  /// time for it is over. It is not called after Close.
  virtual void Peek(Question question, std::function<void(Peeked)> told) = 0;
  /// Tells the nodes that wait for this node's compile that it reads files of one user. `compile`
  /// is Question::compile. kOverflowUid stands for a user whom other nodes do not have.
  virtual void LooksOutside(const Digest& compile, uid_t uid) = 0;
  /// Sends an entry to other nodes. The entry may be dropped, for example if too many entries wait.
  /// `account` is that of the user whose build made it. A deposit is also dropped if another node
  /// holds the lease on it now, or has made it since this node lost the lease.
  virtual void Share(const EntryName& name, const SharedEntry& entry, Account account) = 0;
  /// Removes an entry from the Redis servers. Copies on other nodes stay. The removal may be
  /// delayed or fail.
  virtual void Forget(const EntryName& name) = 0;
  /// Returns when no callback runs or will run.
  virtual void Close() = 0;
};

}  // namespace cccl_cache::daemon
