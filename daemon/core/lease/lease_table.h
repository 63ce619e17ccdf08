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
#include "proto/lease_limit.h"

namespace cccl_cache::daemon {

/// The caller now holds the lease, and must make the deposit. `fence` is the number of the lease.
/// It is greater than the number of every earlier lease.
struct LeaseGrant {
  uint64_t fence = 0;
};

/// The requested deposit.
struct DepositFound {
  DepositContents contents;
  std::chrono::microseconds took{0};  ///< as in DepositRecord
};

/// The caller no longer holds the lease. Another caller may hold it now. If this caller tries to
/// publish the deposit, this is refused.
struct LeaseLost {
  std::string why;  ///< the cause, and what the user can do
};

/// The holder of the lease could not make the deposit, or the caller only waits and there is no
/// holder. The caller stops waiting, and continues without a lease.
struct LeaseReleased {};

/// An answer to a caller. Each caller gets one answer. If it is a grant and the lease is lost
/// later, the caller gets a second one.
using LeaseNews = std::variant<LeaseGrant, DepositFound, LeaseLost, LeaseReleased, Error>;

/// Grants leases on keys. Each key has one holder, and other callers wait for the key in order of
/// arrival. The first of them gets the lease if the holder leaves, sends no sign of life for too
/// long, or holds the lease for too long while others wait. A waiting caller takes memory but no
/// thread. Answers are sent on the thread that causes them, without a lock. Thread-safe.
class LeaseTable {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using WaiterId = uint64_t;
  using Tell = std::function<void(LeaseNews)>;

  struct Options {
    uint64_t first_fence = 1;
    std::chrono::milliseconds patience{15'000};  ///< a holder that does not renew for longer loses
                                                 ///< its lease
    std::chrono::milliseconds longest = kLeaseLimit;  ///< how long a holder may keep its lease
                                                      ///< while others wait
    Now now = std::chrono::steady_clock::now;
    /// Called when Pass must be called earlier than the time that it returned last. No lock is held
    /// during the call. May be empty.
    std::function<void()> sooner = {};
  };

  explicit LeaseTable(Options options)
      : options_(std::move(options)), next_fence_(options_.first_fence) {}

  /// Returns the id of a new caller. It must be used for one call of Enter only.
  [[nodiscard]] WaiterId NewSeat();
  struct Wait {
    std::optional<Time> until = std::nullopt;  ///< time at which the wait ends with kTimedOut; none
                                               ///< for no limit
    bool accepts_release = false;              ///< whether the caller may get LeaseReleased
    bool waits_only = false;                   ///< whether the caller never gets the lease; it gets
                                               ///< LeaseReleased while the key has no holder
    uid_t uid = 0;                             ///< `uid` and `name_space` are only for List
    std::string name_space = {};
  };
  /// Requests the lease on a key. `tell` is called with the answer, possibly before Enter returns.
  /// Until then the caller waits.
  void Enter(WaiterId waiter, const Digest& key, const Wait& wait, Tell tell);
  /// Removes a caller that has left. No call of `tell` begins after this, but a call in progress
  /// may continue. If the caller held a lease, the next waiter gets it. Does nothing if the caller
  /// was removed before.
  void Leave(WaiterId waiter);
  /// Removes a holder that can't make the deposit. All its waiters with `accepts_release` get
  /// LeaseReleased. The first of the other waiters gets the lease.
  void Fail(WaiterId waiter);

  /// Renews the lease of this holder. Returns false if the caller does not hold the lease any more.
  [[nodiscard]] bool Beat(WaiterId waiter);
  /// Suspends the timeout of a holder that does not know of its lease yet, until its next Beat. The
  /// time limit while others wait still applies.
  void SuspendTimeout(WaiterId waiter);
  /// Suspends the timeout of a holder that must first wait for another resource or node, until its
  /// next Beat. If Wait::until passes first, or the time limit while others wait, the holder gets
  /// kTimedOut and loses the lease.
  void Postpone(WaiterId waiter);
  /// Must be called before Publish. After this, the holder can't lose the lease, and must call
  /// Publish. Returns how long the caller has held the lease; none if it no longer holds the lease
  /// with the number `fence`.
  [[nodiscard]] std::optional<std::chrono::microseconds> StartPublishing(WaiterId waiter,
                                                                         uint64_t fence);
  /// Ends the lease of this holder. All callers that wait for it get the deposit.
  void Publish(WaiterId waiter, const DepositFound& found);

  /// Ends the waits and leases whose time is over. Returns the time at which it must be called
  /// again. If it returns none, it must be called again after a call of `sooner`.
  std::optional<Time> Pass();
  /// Sets the number of the next lease. Must be called before a lease is granted.
  void StartAt(uint64_t fence);
  /// Answers all waiting callers, and all later ones, with the error `why`. All holders lose their
  /// leases.
  void Stop(const Error& why);

  struct Gauges {
    size_t held = 0;
    size_t waiting = 0;
  };
  [[nodiscard]] Gauges gauges() const;
  /// Returns the held leases and their waiters. With `only`, returns the leases that this user
  /// holds or waits for, and counts only this user's callers. Adds to `*more` the number of leases
  /// beyond kMaxListedFlights.
  [[nodiscard]] std::vector<FlightActivity> List(std::optional<uid_t> only, size_t* more) const;

 private:
  struct Place {
    Digest key;
    Tell tell;
    Wait wait;
    std::optional<Time> due;  // when the wait or the lease ends; none: no limit
    uint64_t fence = 0;       // number of the lease; 0 for a waiter
    Time until{};             // of a holder: end of the lease if others wait
    Time came{};
    Time granted{};          // for a holder: when it got the lease
    bool postponed = false;  // whether the holder waits for another resource: see Postpone
    bool publishing = false;

    [[nodiscard]] bool waits() const { return fence == 0 || postponed; }
  };
  struct Line {
    WaiterId holder = 0;
    std::set<WaiterId> waiting;        // in order of arrival, because ids increase
    std::set<WaiterId> watching = {};  // callers that never get the lease
  };
  using Told = std::vector<std::pair<Tell, LeaseNews>>;

  void Grant(WaiterId waiter, Told& told) REQUIRES(mutex_);
  /// Adds the last answer for this waiter to `told`, and removes the waiter.
  void Dismiss(WaiterId waiter, LeaseNews news, Told& told) REQUIRES(mutex_);
  void SetDue(WaiterId waiter, Place& place, std::optional<Time> due) REQUIRES(mutex_);
  /// Lets the holder's timeout begin again.
  void Renew(WaiterId waiter, Place& place) REQUIRES(mutex_);
  /// Called when a caller began to wait: from now on, the holder's lease ends at `until` at the
  /// latest.
  void AskForRelease(const Line& line) REQUIRES(mutex_);
  [[nodiscard]] bool OthersWaitFor(const Place& place) const REQUIRES(mutex_) {
    return !lines_.at(place.key).waiting.empty();
  }
  /// Removes the caller. If it held a lease, the next waiter gets the lease. If there is none, the
  /// callers that only wait get LeaseReleased.
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

/// A thread that calls LeaseTable::Pass whenever a wait or a lease ends. The table must outlive
/// this object. Thread-safe.
class LeaseClock {
 public:
  explicit LeaseClock(LeaseTable& table)
      : table_(table), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  /// Lets the thread call Pass now, because a wait or a lease ends earlier than it expects.
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
