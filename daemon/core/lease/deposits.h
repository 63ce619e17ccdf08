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

/// One caller's request for a deposit. The key was made from the scope, so knowing it is no way to
/// another's deposit.
struct DepositClaim {
  Digest key;
  uid_t uid = 0;
  std::optional<Account> counted_as = std::nullopt;  ///< as in Peer
  DepositScope scope;
  std::string name_space;
  Digest fields;
  std::chrono::milliseconds wait{0};  ///< longest wait for the lease or the deposit; 0: without end
  bool accepts_release = false;       ///< see LeaseTable::Wait
};

/// Numbers of what is kept, held and waited for now.
struct DepositGauges {
  TierSize kept;
  LeaseTable::Gauges leases;
};

/// Keeps what only clients can make. Hands out a deposit that is there. If none is there, grants a
/// lease to one caller and lets the others wait. Thread-safe. Every waiter must have left before
/// the object ends.
class Deposits {
 public:
  using WaiterId = LeaseTable::WaiterId;
  using Tell = LeaseTable::Tell;

  struct Options {
    DepositLimits limits;
    /// How long one read of the disk may take.
    std::chrono::milliseconds disk_patience{5'000};
    /// Number of this run of the daemon over this store, greater than that of each run before, so
    /// that no fence is given out twice. An error: the number is not known yet (Counted), and
    /// callers that want a lease are told so.
    Result<uint64_t> run = uint64_t{0};
    /// Groups whose deposits the nodes share, by gid: the name is the same on all nodes.
    std::map<gid_t, std::string> shared_groups = {};
    uint64_t shared_bytes = 0;  ///< larger deposits stay on their node
    Now now = std::chrono::steady_clock::now;
  };
  /// All must outlive the object.
  struct Parts {
    DepositStore& store;
    Statistics& statistics;
    FindAccount find_account = {};  ///< as DepositIndex has it
    Cluster* cluster = nullptr;     ///< the other nodes; null: there are none
    /// Counts what a caller came to, on any thread. May be null.
    std::function<void(Account account, DepositUse use)> note = {};
  };

  /// Loads what the store holds; what exceeds the limits is evicted.
  Deposits(Options options, Parts parts);
  /// Closes the cluster.
  ~Deposits();
  Deposits(const Deposits&) = delete;
  Deposits& operator=(const Deposits&) = delete;

  /// Grants leases from now on if none are granted yet and the number of this run is known. Loads
  /// what the store holds again, which waits for the disk. Returns why no leases are granted.
  Status Counted(const Result<uint64_t>& run);

  [[nodiscard]] WaiterId NewSeat() { return table_.NewSeat(); }
  /// Tells the caller of the deposit or of its lease, perhaps before this returns; otherwise the
  /// caller waits. A deposit that is only on the disk is read on threads of this user's.
  void Acquire(WaiterId waiter, const DepositClaim& claim, Tell tell);
  /// The contract of these is that of LeaseTable.
  void Leave(WaiterId waiter);
  void Fail(WaiterId waiter);
  [[nodiscard]] bool Beat(WaiterId waiter) { return table_.Beat(waiter); }
  void Postpone(WaiterId waiter) { table_.Postpone(waiter); }
  /// Keeps what the holder made and hands it to all waiters. LeaseLost: the caller holds the lease
  /// no more, or the number is another's. kOverloaded: the deposit is larger than a user's quota;
  /// the lease is still held.
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
  /// Returns false if this user deposited nothing under the key. What nodes share is taken back.
  [[nodiscard]] bool Remove(const Digest& key, uid_t uid);
  /// Marks the deposit as used, if there is one. Never waits for a disk.
  void Touch(const Digest& key) { NoteUse(key); }

  /// Returns the contents of a deposit that List named; this does not count as a use. Returns null
  /// if it is there no more or can't be read. Reads the disk.
  [[nodiscard]] DepositContents Read(const Digest& key);
  /// Reads a deposit from the disk, and drops it if it does not verify. Returns false if it was
  /// dropped, kUnavailable if the disk does not give it: then it is kept.
  [[nodiscard]] Result<bool> Verify(const Digest& key);
  /// Keeps, for this user alone, what was deposited elsewhere. kOverloaded: it is larger than a
  /// user's quota. kUnavailable: there is no room now.
  [[nodiscard]] Result<Inserted> Insert(uid_t uid, const std::string& name_space,
                                        const Digest& fields, DepositContents contents);

  /// Ends all waiting and all leases: every caller is told that the daemon stops.
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
  /// `found`: what the disk has under the call's key; may be null.
  void DiskRead(const CallPtr& call, DepositContents found);
  void Enter(const CallPtr& call);
  void Granted(const CallPtr& call, const LeaseGrant& grant);
  void GoWithout(const Call& call, const LeaseGrant& grant);
  /// Asks the other nodes before the caller is told of its lease, if they share such deposits.
  void AskCluster(const CallPtr& call, const LeaseGrant& grant);
  void TakeFromCluster(const Call& call, const LeaseGrant& grant, const ArtifactPtr& entry);
  /// Ends the question that this caller's lease waits for, if there is one.
  void StopAsking(WaiterId waiter);
  /// Returns the name that the deposit has on all nodes; none: it stays on this one.
  [[nodiscard]] std::optional<SharedEntry> SharedNameOf(const DepositScope& scope,
                                                        const Digest& identity) const;
  void Keep(const DepositClaim& claim, const DepositContents& contents);
  void Count(Counter counter, Account account);
  void TellNews(const Call& call, LeaseNews news);
  /// Returns false if the caller has left.
  [[nodiscard]] bool StopReading(WaiterId waiter);
  /// Blocks on the disk.
  [[nodiscard]] DepositContents Look(const Digest& key);
  /// Drops a deposit whose contents the store does not have. Returns false if it was removed or
  /// replaced meanwhile.
  bool DropLost(const Digest& key, uint64_t addition);
  void NoteUse(const Digest& key);
  [[nodiscard]] Status CheckFits(uint64_t size) const;
  /// Counts what the store holds, and evicts what exceeds the limits.
  void Load() EXCLUDES(changing_);
  void Take(const DepositRecord& record) REQUIRES(changing_);

  const Options options_;
  const Parts parts_;
  /// Held while index and store are changed together, so that no caller removes what another one
  /// publishes under the same key. Nothing waits for a disk meanwhile.
  Mutex changing_;
  DepositIndex index_;
  LeaseTable table_;
  BlockingPool reads_;
  Mutex mutex_;
  std::optional<Error> grants_none_ GUARDED_BY(mutex_);      // why no leases are granted yet
  std::unordered_set<WaiterId> reading_ GUARDED_BY(mutex_);  // callers that wait for the disk
  // Callers that wait for the other nodes.
  std::unordered_map<WaiterId, std::stop_source> asking_ GUARDED_BY(mutex_);
  LeaseClock clock_;  // last: its thread uses all of the above
};

}  // namespace cccl_cache::daemon
