// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/lease/deposit_index.h"
#include "daemon/core/lease/lease_table.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// One caller's request for a deposit. `key` covers the scope, which says who may read the deposit.
/// So a user who knows another user's key still gets no access.
struct DepositClaim {
  Digest key;
  uid_t uid = 0;
  std::optional<Account> counted_as = std::nullopt;  ///< as in Peer::counted_as
  DepositScope scope;
  std::string name_space;
  Digest fields;
  std::chrono::milliseconds wait{0};  ///< maximum wait for the lease or the deposit; 0: no limit
  bool accepts_release = false;       ///< as in LeaseTable::Wait
  bool released_at_limit = false;     ///< whether the caller does not wait for one of its user's
                                      ///< leases to end
  bool replaces = false;    ///< whether the caller makes another deposit in place of its user's own
  bool waits_only = false;  ///< as in LeaseTable::Wait
};

/// Present numbers of deposits, leases and waiters.
struct DepositGauges {
  TierSize kept;
  LeaseTable::Gauges leases;
};

/// Stores deposits: artifacts that clients make themselves. A caller gets the deposit if it is
/// stored. Otherwise one caller gets a lease, which is the right to make the deposit, and the
/// others wait for it. Every waiter must have left before this object is destroyed. Thread-safe.
class Deposits {
 public:
  using WaiterId = LeaseTable::WaiterId;
  using Tell = LeaseTable::Tell;

  struct Options {
    DepositLimits limits;
    /// Time limit for one read of the disk.
    std::chrono::milliseconds disk_patience{5'000};
    /// The number of this run of the daemon on this store. It is greater than in all earlier runs,
    /// so that no two leases have the same fence. An error means that the number is not known yet;
    /// a caller that needs a lease gets this error until Counted is called.
    Result<uint64_t> run = uint64_t{0};
    /// The groups whose deposits all nodes share: gid on this node -> name on all nodes.
    std::map<gid_t, std::string> shared_groups = {};
    uint64_t shared_bytes = 0;  ///< larger deposits, in bytes, are not sent to other nodes
    Now now = std::chrono::steady_clock::now;
  };
  /// The objects must outlive this object.
  struct Parts {
    DepositStore& store;
    Statistics& statistics;
    FindAccount find_account = {};  ///< as in DepositIndex
    Cluster* cluster = nullptr;     ///< the other nodes; null: there are none
    /// Receives each answer with a deposit, and each publication. Called on any thread. May be
    /// empty.
    std::function<void(const DepositEvent& event)> note = {};
  };

  /// Loads the store's records, and evicts deposits above the limits.
  Deposits(Options options, Parts parts);
  /// Closes the cluster, so that no callback of it uses this object later.
  ~Deposits();
  Deposits(const Deposits&) = delete;
  Deposits& operator=(const Deposits&) = delete;

  /// Sets the number of this run if Options::run was an error, and begins to grant leases. Does
  /// nothing if leases are granted already. Reads the store's records again, and so waits for the
  /// disk. If `run` is an error, callers get it instead of leases, and it is returned.
  Status Counted(const Result<uint64_t>& run);

  [[nodiscard]] WaiterId NewSeat() { return table_.NewSeat(); }
  /// Requests the deposit. `tell` is called with the deposit, a lease or an error, possibly before
  /// Acquire returns. Until then the caller waits. A deposit that is only on the disk is read on a
  /// thread of this user.
  void Acquire(WaiterId waiter, const DepositClaim& claim, Tell tell);
  /// As in LeaseTable.
  void Leave(WaiterId waiter);
  void Fail(WaiterId waiter);
  [[nodiscard]] bool Beat(WaiterId waiter) { return table_.Beat(waiter); }
  void Postpone(WaiterId waiter) { table_.Postpone(waiter); }
  /// Stores the deposit of the caller that holds the lease, and gives it to all waiters. Returns
  /// LeaseLost if the caller no longer holds the lease with the number `fence`. Returns kOverloaded
  /// if the deposit exceeds the quota of a user; the caller then still holds the lease.
  using Publication = std::variant<Ok, LeaseLost, Error>;
  [[nodiscard]] Publication Publish(WaiterId waiter, uint64_t fence, const DepositClaim& claim,
                                    const DepositContents& contents);

  /// As in DepositIndex.
  [[nodiscard]] std::vector<DepositRecord> List(uid_t uid, const std::optional<Digest>& after,
                                                size_t count) const {
    return index_.List(uid, after, count);
  }
  /// As in LeaseTable::List.
  [[nodiscard]] std::vector<FlightActivity> Leases(std::optional<uid_t> only, size_t* more) const {
    return table_.List(only, more);
  }
  [[nodiscard]] std::vector<uid_t> Users() const { return index_.Users(); }
  /// Removes the deposit of this user. Also removes it from the Redis that nodes share. Returns
  /// false if the user has no deposit with this key.
  [[nodiscard]] bool Remove(const Digest& key, uid_t uid);
  /// Marks the deposit as used. Does nothing if there is none. Does not wait for a disk.
  void Touch(const Digest& key) { NoteUse(key); }

  /// Returns the contents of a deposit for an export. This does not count as a use. Returns null if
  /// the deposit is gone or can't be read. Waits for the disk.
  [[nodiscard]] DepositContents Read(const Digest& key);
  /// Reads a deposit from the disk, and drops it if its checksum is wrong. Returns false if it was
  /// dropped, kUnavailable if the disk can't be read.
  [[nodiscard]] Result<bool> Verify(const Digest& key);
  /// Stores a deposit from another daemon's export. Only this user gets it. Returns kOverloaded if
  /// it exceeds the quota of a user, and kUnavailable if there is no room now.
  [[nodiscard]] Result<Inserted> Insert(uid_t uid, const std::string& name_space,
                                        const Digest& fields, DepositContents contents);

  /// Ends all waits and leases because the daemon is stopping. Waiting callers get this as an
  /// error, and holders get LeaseLost.
  void Stop();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] DepositGauges gauges() const { return {index_.size(), table_.gauges()}; }

 private:
  /// The arguments of one call of Acquire.
  struct Call {
    WaiterId waiter;
    DepositClaim claim;
    Account account;
    LeaseTable::Wait wait;
    Tell tell;
  };
  using CallPtr = std::shared_ptr<const Call>;
  /// A question to other nodes.
  struct Asking {
    std::stop_source ended;  ///< its stop ends the question
    CallPtr watcher;         ///< the call, if it only waits; it has no place in the table
  };
  /// Reads the deposit on a disk thread. Then calls `then` with it, or with null if the disk does
  /// not have it. Tells the caller if the disk hangs.
  void AskDisk(const CallPtr& call, std::function<void(DepositContents)> then);
  /// Continues the call after the disk was read. `found` is the deposit, or null if the disk does
  /// not have it.
  void DiskRead(const CallPtr& call, DepositContents found);
  void Enter(const CallPtr& call);
  /// Called if no caller of this node makes the deposit for which this caller only waits. Looks for
  /// one that was published since its first look-up, and for one of other nodes.
  void Unmade(const CallPtr& call);
  /// Lets a caller that only waits do so while another node makes the deposit. Takes no lease.
  void WatchCluster(const CallPtr& call);
  /// Returns whether the caller gets the lease although the deposit is there.
  [[nodiscard]] bool Replaces(const DepositClaim& claim) const {
    return claim.replaces && index_.IsMadeBy(claim.key, claim.uid);
  }
  void Granted(const CallPtr& call, const LeaseGrant& grant);
  void GoWithout(const Call& call, const LeaseGrant& grant);
  /// Asks the other nodes for the deposit, and waits while one of them makes it, before the caller
  /// learns of its lease. If nodes do not share such deposits, tells the caller at once.
  void AskCluster(const CallPtr& call, const LeaseGrant& grant);
  void TakeFromCluster(const Call& call, const LeaseGrant& grant, const DepositFound& found);
  /// Returns the token that ends the question. `watcher` is the call if it only waits.
  [[nodiscard]] std::stop_token BeginQuestion(WaiterId waiter, CallPtr watcher);
  /// Ends the question to other nodes for this caller, and the lease of this node. Does nothing if
  /// there is none.
  void EndQuestion(WaiterId waiter);
  /// Returns the name of the deposit on all nodes. None if nodes do not share it.
  [[nodiscard]] std::optional<EntryName> SharedNameOf(const DepositScope& scope,
                                                      const Digest& identity) const;
  /// Stores the deposit, which the claim's user has made on this node, or else has fetched.
  void Keep(const DepositClaim& claim, const DepositFound& deposit, bool is_fetched);
  /// Stores and counts a deposit of another node, which answers the call.
  void KeepFetched(const Call& call, const DepositFound& deposit);
  void Count(const DepositClaim& claim, DepositUse use, const DepositFound& deposit);
  void TellNews(const Call& call, LeaseNews news);
  /// Records that the caller waits for the disk, or for an answer of other nodes.
  void AwaitRead(WaiterId waiter);
  /// Answers the call with a deposit of this node.
  void TellHit(const Call& call, DepositContents contents);
  /// Records the end of this wait. Returns false if the caller did not wait, because it has left.
  [[nodiscard]] bool StopReading(WaiterId waiter);
  /// Returns the deposit, and marks it as used. Null if it is missing or can't be read. Reads the
  /// disk.
  [[nodiscard]] DepositContents Look(const Digest& key);
  /// Drops a deposit whose contents the store has lost. Returns false if the deposit with this
  /// number was removed or replaced before.
  bool DropLost(const Digest& key, uint64_t addition);
  void NoteUse(const Digest& key);
  [[nodiscard]] Status CheckFits(uint64_t size) const;
  /// Adds all deposits of the store to the index, and evicts those that exceed the limits.
  void Load() EXCLUDES(changing_);
  void Take(const DepositRecord& record) REQUIRES(changing_);

  const Options options_;
  const Parts parts_;
  /// Held while the index and the store change together. Otherwise, a removal and another caller's
  /// publication under the same key could mix. Never held during a read of the disk.
  Mutex changing_;
  DepositIndex index_;
  LeaseTable table_;
  BlockingPool reads_;
  Mutex mutex_;
  std::optional<Error> grants_none_ GUARDED_BY(mutex_);  // why no leases are granted; none if
                                                         // they are
  // Callers that wait for a read, once for each read: a caller that only waits may look again while
  // its first look ends.
  std::unordered_multiset<WaiterId> reading_ GUARDED_BY(mutex_);
  // Callers that wait for the other nodes, or hold a lease that other nodes wait for.
  std::unordered_map<WaiterId, Asking> asking_ GUARDED_BY(mutex_);
  LeaseClock clock_;  // last member: its thread uses the others
};

}  // namespace cccl_cache::daemon
