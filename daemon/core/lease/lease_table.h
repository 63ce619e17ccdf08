// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/expiring_cache.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The caller holds the lease and must make the deposit. The fence is greater than that of every
/// earlier lease.
struct LeaseGrant {
  uint64_t fence = 0;
};

/// The requested deposit.
struct DepositFound {
  DepositContents contents;
};

/// The holder has lost its lease: another caller may hold it, and a publication is refused.
struct LeaseLost {
  std::string why;  ///< the cause and the remedy
};

/// The holder failed. The caller stops waiting and continues without a lease.
struct LeaseReleased {};

/// The answer to a caller: sent once; after a grant a second time if the lease is lost.
using LeaseNews = std::variant<LeaseGrant, DepositFound, LeaseLost, LeaseReleased, Error>;

/// Leases and their waiters: each key has one holder, and the others wait in order of arrival. The
/// next waiter gets the lease if the holder leaves, sends nothing for too long, or keeps the lease
/// for too long while others wait. A waiter costs an entry here and no thread. Thread-safe; answers
/// are sent on the thread that caused the event, without a lock.
class LeaseTable {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using WaiterId = uint64_t;
  using Tell = std::function<void(LeaseNews)>;

  struct Options {
    uint64_t first_fence = 1;
    std::chrono::milliseconds patience{15'000};  ///< maximum time between two renewals
    std::chrono::milliseconds longest{600'000};  ///< maximum time while others wait
    Now now = std::chrono::steady_clock::now;
    /// Called, without a lock, when Pass must be called earlier than it returned. May be empty.
    std::function<void()> sooner = {};
  };

  explicit LeaseTable(Options options)
      : options_(std::move(options)), next_fence_(options_.first_fence) {}

  /// Returns a new waiter's id, for one call of Enter.
  [[nodiscard]] WaiterId NewSeat();
  struct Wait {
    std::optional<Time> until = std::nullopt;  ///< at this time the wait ends with kTimedOut
    bool accepts_release = false;              ///< false: the caller never gets LeaseReleased
    uid_t uid = 0;                             ///< uid and name_space are used by List only
    std::string name_space = {};
  };
  /// Queues the caller for the key. Calls `tell` with the lease, possibly before this returns;
  /// otherwise the caller waits.
  void Enter(WaiterId waiter, const Digest& key, const Wait& wait, Tell tell);
  /// Removes a caller that has left: `tell` is not called again, but a call in progress may still
  /// run. Does nothing if the waiter was removed before.
  void Leave(WaiterId waiter);
  /// Removes a holder that can't make the deposit: all waiters with `accepts_release` get
  /// LeaseReleased. The first of the others gets the lease.
  void Fail(WaiterId waiter);

  /// Renews the holder's lease. Returns false if the caller does not hold it any more.
  [[nodiscard]] bool Beat(WaiterId waiter);
  /// Suspends the holder's timeout until its next Beat, because it was not told of its lease yet.
  /// The limit on holding it while others wait stays.
  void SuspendTimeout(WaiterId waiter);
  /// Suspends both limits for a holder that must first wait for another resource. It gets kTimedOut
  /// at the end of its wait.
  void Postpone(WaiterId waiter);
  /// Marks the start of a publication: the holder can't lose the lease any more, and must call
  /// Publish. Returns false if the lease is lost already or has another number.
  [[nodiscard]] bool StartPublishing(WaiterId waiter, uint64_t fence);
  /// Ends the lease: all waiters get this deposit.
  void Publish(WaiterId waiter, const DepositFound& found);

  /// Ends the waits and leases that are due. Returns the time of the next call; none: when `sooner`
  /// is called.
  std::optional<Time> Pass();
  /// Sets the fence of the next lease. No lease may have been granted yet.
  void StartAt(uint64_t fence);
  /// Answers all waiters, and all later callers, with this error; all holders lose their lease.
  void Stop(const Error& why);

  struct Gauges {
    size_t held = 0;
    size_t waiting = 0;
  };
  [[nodiscard]] Gauges gauges() const;
  /// Returns held leases: all of them, or those that `only` holds or waits for, with only its own
  /// waiters. Adds the number of leases left out to `*more`.
  [[nodiscard]] std::vector<FlightActivity> List(std::optional<uid_t> only, size_t* more) const;

 private:
  struct Place {
    Digest key;
    Tell tell;
    Wait wait;
    std::optional<Time> due;  // end of the wait, or of the lease
    uint64_t fence = 0;       // 0: it is a waiter
    Time until{};             // of a holder: end of the lease if others wait
    Time came{};
    Time granted{};          // of a holder
    bool postponed = false;  // the holder waits for another resource
    bool publishing = false;

    [[nodiscard]] bool waits() const { return fence == 0 || postponed; }
  };
  struct Line {
    WaiterId holder = 0;
    std::set<WaiterId> waiting;  // in order of arrival, because ids increase
  };
  using Told = std::vector<std::pair<Tell, LeaseNews>>;

  void Grant(WaiterId waiter, Told& told) REQUIRES(mutex_);
  /// Sends a waiter its last answer, and removes it.
  void Dismiss(WaiterId waiter, LeaseNews news, Told& told) REQUIRES(mutex_);
  void SetDue(WaiterId waiter, Place& place, std::optional<Time> due) REQUIRES(mutex_);
  /// Restarts the holder's timeout.
  void Renew(WaiterId waiter, Place& place) REQUIRES(mutex_);
  /// Limits the holder to its longest lease, because a waiter joined the queue.
  void AskForRelease(const Line& line) REQUIRES(mutex_);
  [[nodiscard]] bool OthersWaitFor(const Place& place) const REQUIRES(mutex_) {
    return !lines_.at(place.key).waiting.empty();
  }
  /// Removes the waiter; its lease goes to the next one.
  void Release(WaiterId waiter, Told& told) REQUIRES(mutex_);
  [[nodiscard]] Place* Holder(WaiterId waiter) REQUIRES(mutex_);

  static void TellAll(Told& told);

  const Options options_;
  mutable Mutex mutex_;
  uint64_t next_fence_ GUARDED_BY(mutex_);
  WaiterId last_id_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> stopped_ GUARDED_BY(mutex_);
  std::unordered_map<WaiterId, Place> places_ GUARDED_BY(mutex_);
  std::unordered_map<Digest, Line, DigestHash> lines_ GUARDED_BY(mutex_);
  std::set<std::pair<Time, WaiterId>> due_ GUARDED_BY(mutex_);
};

/// The thread that calls Pass of a lease table; it sleeps until a timeout is due. Thread-safe. The
/// table must outlive it.
class LeaseClock {
 public:
  explicit LeaseClock(LeaseTable& table)
      : table_(table), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  /// Wakes the thread: the next timeout is earlier than before.
  void Wake();

 private:
  void Run(const std::stop_token& stop);

  LeaseTable& table_;
  Mutex mutex_;
  CondVar changed_;
  bool woken_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace cccl_cache::daemon
