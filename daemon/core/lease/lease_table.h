// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/expiring_cache.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The caller is to make what is missing. The number is greater than that of every lease before.
struct LeaseGrant {
  uint64_t fence = 0;
};

/// What was asked for.
struct DepositFound {
  DepositContents contents;
};

/// The holder is none any more: another caller may be, and what it makes is refused.
struct LeaseLost {
  std::string why;  ///< for a person: the cause and the way out
};

/// What a caller is told, once; after a grant a second time if it loses the lease.
using LeaseNews = std::variant<LeaseGrant, DepositFound, LeaseLost, Error>;

/// Who makes what, and who waits for it: for each key one holder, the others behind it in the order
/// of their coming. A holder that leaves, says nothing for too long, or holds on for too long while
/// others wait, loses the lease to the next one. Who waits costs a place in here and no thread.
/// Thread-safe; callers are told on whatever thread brought the news, without a lock held.
class LeaseTable {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using WaiterId = uint64_t;
  using Tell = std::function<void(LeaseNews)>;

  struct Options {
    uint64_t first_fence = 1;
    std::chrono::milliseconds patience{15'000};  ///< how long a holder may say nothing
    std::chrono::milliseconds longest{600'000};  ///< how long it may hold what others wait for
    Now now = std::chrono::steady_clock::now;
    /// Called, without a lock held, when Pass is to be called earlier than was said. May be empty.
    std::function<void()> sooner = {};
  };

  explicit LeaseTable(Options options)
      : options_(std::move(options)), next_fence_(options_.first_fence) {}

  /// A name for one caller's stay, to be used with one Enter.
  [[nodiscard]] WaiterId NewSeat();
  /// Tells the caller of its lease, perhaps before this returns, or that it must wait: by silence.
  /// Who waits beyond `until` is told kTimedOut.
  void Enter(WaiterId waiter, const Digest& key, std::optional<Time> until, Tell tell);
  /// The caller is gone: it is told nothing more, but what is being told just now. Nothing happens
  /// if it has no waiter any more.
  void Leave(WaiterId waiter);

  /// The holder lives. False: it is none any more.
  [[nodiscard]] bool Beat(WaiterId waiter);
  /// The holder is silent through no fault of its own, for it was not told of its lease yet: until
  /// its next Beat it may be.
  void SuspendTimeout(WaiterId waiter);
  /// The holder's last word has begun: the lease can't be lost any more, and must be ended with
  /// Publish. False: it is lost already, or has another number.
  [[nodiscard]] bool StartPublishing(WaiterId waiter, uint64_t fence);
  /// Ends the lease: all who wait are handed this.
  void Publish(WaiterId waiter, const DepositFound& found);

  /// Does what has become due. Returns when to call it again; none: not until `sooner`.
  std::optional<Time> Pass();
  /// Everybody here, and who comes later, is told this; holders that they lost their lease.
  void Stop(const Error& why);

  struct Gauges {
    size_t held = 0;
    size_t waiting = 0;
  };
  [[nodiscard]] Gauges gauges() const;

 private:
  struct Place {
    Digest key;
    Tell tell;
    std::optional<Time> due;  // when it waited long enough, or loses the lease
    uint64_t fence = 0;       // 0: it waits
    Time until{};             // a holder's: when it has held on for too long
    bool publishing = false;
  };
  struct Line {
    WaiterId holder = 0;
    std::set<WaiterId> waiting;  // in the order of coming: ids are counted up
  };
  using Told = std::vector<std::pair<Tell, LeaseNews>>;

  // These require mutex_ held.
  void Grant(WaiterId waiter, Told& told);
  void SetDue(WaiterId waiter, Place& place, std::optional<Time> due);
  /// The holder said something just now.
  void Renew(WaiterId waiter, Place& place);
  /// Somebody began to wait in this line.
  void AskForRelease(const Line& line);
  /// Takes the waiter away; its lease goes to the next one.
  void Release(WaiterId waiter, Told& told);
  [[nodiscard]] Place* Holder(WaiterId waiter);

  static void TellAll(Told& told);

  const Options options_;
  mutable std::mutex mutex_;
  uint64_t next_fence_;  // guarded by mutex_, as all below
  WaiterId last_id_ = 0;
  std::optional<Error> stopped_;
  std::unordered_map<WaiterId, Place> places_;
  std::unordered_map<Digest, Line, DigestHash> lines_;
  std::set<std::pair<Time, WaiterId>> due_;
};

/// The one thread that tells a table of leases that time has passed; it sleeps until something is
/// due. Thread-safe. The table must outlive it.
class LeaseClock {
 public:
  explicit LeaseClock(LeaseTable& table)
      : table_(table), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  /// Something is due earlier than it was.
  void Wake();

 private:
  void Run(const std::stop_token& stop);

  LeaseTable& table_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool woken_ = false;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace cccl_cache::daemon
