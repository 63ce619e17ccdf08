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

/// One caller's request for a deposit. The key covers the scope, so a known key gives no access to
/// another user's deposit.
struct DepositClaim {
  Digest key;
  uid_t uid = 0;
  std::optional<Account> counted_as = std::nullopt;  ///< as in Peer
  DepositScope scope;
  std::string name_space;
  Digest fields;
  std::chrono::milliseconds wait{0};  ///< maximum wait for the lease or the deposit; 0: no limit
  bool accepts_release = false;       ///< see LeaseTable::Wait
};

/// Present numbers of deposits, leases and waiters.
struct DepositGauges {
  TierSize kept;
  LeaseTable::Gauges leases;
};

/// Stores the deposits of clients. Returns an existing deposit; otherwise grants a lease to one
/// caller and lets the others wait. Thread-safe. Every waiter must have left before the object is
/// destroyed.
class Deposits {
 public:
  using WaiterId = LeaseTable::WaiterId;
  using Tell = LeaseTable::Tell;

  struct Options {
    DepositLimits limits;
    /// Time limit of one disk read.
    std::chrono::milliseconds disk_patience{5'000};
    /// Number of this run of the daemon on this store, greater than in each run before, so that
    /// fences are unique. An error: it is not known yet (see Counted), and callers that need a
    /// lease get this error.
    Result<uint64_t> run = uint64_t{0};
    /// Groups whose deposits the nodes share, by gid: the name is the same on all nodes.
    std::map<gid_t, std::string> shared_groups = {};
    uint64_t shared_bytes = 0;  ///< limit in bytes; larger deposits stay on their node
    Now now = std::chrono::steady_clock::now;
  };
  /// All must outlive the object.
  struct Parts {
    DepositStore& store;
    Statistics& statistics;
    FindAccount find_account = {};  ///< see DepositIndex
    Cluster* cluster = nullptr;     ///< the other nodes; null: there are none
    /// Records the outcome of a call; called on any thread. May be null.
    std::function<void(Account account, DepositUse use)> note = {};
  };

  /// Loads the store's records, and evicts deposits above the limits.
  Deposits(Options options, Parts parts);
  /// Closes the cluster.
  ~Deposits();
  Deposits(const Deposits&) = delete;
  Deposits& operator=(const Deposits&) = delete;

  /// Starts to grant leases once the number of this run is known, unless it did so before. Loads
  /// the store's records again, which waits for the disk. Returns why no leases are granted.
  Status Counted(const Result<uint64_t>& run);

  [[nodiscard]] WaiterId NewSeat() { return table_.NewSeat(); }
  /// Gives the caller the deposit or a lease, possibly before this returns; otherwise the caller
  /// waits. A deposit that is only on the disk is read on this user's threads.
  void Acquire(WaiterId waiter, const DepositClaim& claim, Tell tell);
  /// See LeaseTable for Leave, Fail and Beat.
  void Leave(WaiterId waiter);
  void Fail(WaiterId waiter);
  [[nodiscard]] bool Beat(WaiterId waiter) { return table_.Beat(waiter); }
  void Postpone(WaiterId waiter) { table_.Postpone(waiter); }
  /// Stores the holder's contents and gives them to all waiters. LeaseLost: the caller no longer
  /// holds the lease with this number. kOverloaded: the deposit exceeds a user's quota; the caller
  /// still holds the lease.
  using Publication = std::variant<Ok, LeaseLost, Error>;
  [[nodiscard]] Publication Publish(WaiterId waiter, uint64_t fence, const DepositClaim& claim,
                                    const DepositFound& made);

  /// See DepositIndex.
  [[nodiscard]] std::vector<DepositRecord> List(uid_t uid, const std::optional<Digest>& after,
                                                size_t count) const {
    return index_.List(uid, after, count);
  }
  /// See LeaseTable::List.
  [[nodiscard]] std::vector<FlightActivity> Leases(std::optional<uid_t> only, size_t* more) const {
    return table_.List(only, more);
  }
  [[nodiscard]] std::vector<uid_t> Users() const { return index_.Users(); }
  /// Returns false if this user has no deposit under the key. Also removes the deposit from the
  /// Redis that nodes share.
  [[nodiscard]] bool Remove(const Digest& key, uid_t uid);
  /// Marks the deposit as used, if there is one. Never waits for a disk.
  void Touch(const Digest& key) { NoteUse(key); }

  /// Returns the contents of a listed deposit; does not count as a use. Returns null if it is gone
  /// or can't be read. Reads the disk.
  [[nodiscard]] DepositContents Read(const Digest& key);
  /// Reads a deposit from the disk, and drops it if its checksum is wrong. Returns false if it was
  /// dropped, kUnavailable if the disk can't be read.
  [[nodiscard]] Result<bool> Verify(const Digest& key);
  /// Stores another daemon's deposit for this user alone. kOverloaded: it exceeds a user's quota.
  /// kUnavailable: there is no room now.
  [[nodiscard]] Result<Inserted> Insert(uid_t uid, const std::string& name_space,
                                        const Digest& fields, DepositContents contents);

  /// Ends all waits and leases: every caller gets the error that the daemon is stopping.
  void Stop();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] DepositGauges gauges() const { return {index_.size(), table_.gauges()}; }

 private:
  /// One call of Acquire.
  struct Call {
    WaiterId waiter;
    DepositClaim claim;
    Account account;
    LeaseTable::Wait wait;
    Tell tell;
  };
  using CallPtr = std::shared_ptr<const Call>;
  void AskDisk(const CallPtr& call);
  /// `found`: the contents on the disk under the call's key; may be null.
  void DiskRead(const CallPtr& call, DepositContents found);
  void Enter(const CallPtr& call);
  void Granted(const CallPtr& call, const LeaseGrant& grant);
  void GoWithout(const Call& call, const LeaseGrant& grant);
  /// Asks the other nodes before the caller gets its lease, if they share such deposits.
  void AskCluster(const CallPtr& call, const LeaseGrant& grant);
  void TakeFromCluster(const Call& call, const LeaseGrant& grant, const DepositContents& contents);
  /// Ends the question to other nodes for which this caller's lease waits, if any.
  void StopAsking(WaiterId waiter);
  /// Returns the deposit's name on all nodes; none: it is not shared.
  [[nodiscard]] std::optional<EntryName> SharedNameOf(const DepositScope& scope,
                                                      const Digest& identity) const;
  void Keep(const DepositClaim& claim, const DepositContents& contents);
  void Count(Counter counter, Account account);
  void TellNews(const Call& call, LeaseNews news);
  /// Returns false if the caller has left.
  [[nodiscard]] bool StopReading(WaiterId waiter);
  /// Reads the disk.
  [[nodiscard]] DepositContents Look(const Digest& key);
  /// Drops a deposit whose contents are not in the store. Returns false if the deposit was removed
  /// or replaced meanwhile.
  bool DropLost(const Digest& key, uint64_t addition);
  void NoteUse(const Digest& key);
  [[nodiscard]] Status CheckFits(uint64_t size) const;
  /// Counts the store's deposits, and evicts those above the limits.
  void Load() EXCLUDES(changing_);
  void Take(const DepositRecord& record) REQUIRES(changing_);

  const Options options_;
  const Parts parts_;
  /// Held while index and store change together, so that a removal can't affect another caller's
  /// publication under the same key. Never held during a disk read.
  Mutex changing_;
  DepositIndex index_;
  LeaseTable table_;
  BlockingPool reads_;
  Mutex mutex_;
  std::optional<Error> grants_none_ GUARDED_BY(mutex_);      // why no leases are granted yet
  std::unordered_set<WaiterId> reading_ GUARDED_BY(mutex_);  // callers that wait for the disk
  // Callers that wait for the other nodes.
  std::unordered_map<WaiterId, std::stop_source> asking_ GUARDED_BY(mutex_);
  LeaseClock clock_;  // last member: its thread uses the others
};

}  // namespace cccl_cache::daemon
