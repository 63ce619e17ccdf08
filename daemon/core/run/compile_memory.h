// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/statistics.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Starts compiles only while their expected memory fits a limit. The estimate for a compile comes
/// from earlier compiles of its kind. Thread-safe.
///
/// Three quarters of the limit are shared by all compiles. A compile that needs more counts as
/// three quarters, so each can run. First come compiles of accounts without a running one (an
/// account whose last compile just ended comes behind the others), then other callers' compiles by
/// age, then compiles without a waiting caller. At most `kMaxPassedBy` compiles of its rank or
/// below, and `kMaxPassedByAny` of any rank, overtake a caller's compile that does not fit.
///
/// The last quarter is a reserve for callers' compiles that would have to wait for the shared part:
/// of accounts with little running, of root, and of the daemon's own user. An account without a
/// running compile may always start one of at most `kUnknownBytes` (also the estimate for unknown
/// compiles).
class CompileMemory {
 public:
  enum class Urgency {
    kCaller,  ///< a caller waits for it
    kIdle,    ///< no caller does
  };
  /// The present and future callers of a compile.
  struct Callers {
    uint64_t flight;                                 ///< as in AddCaller
    std::function<std::vector<Account>()> accounts;  ///< called once; may be empty
  };
  /// Compiles of one account that need about the same memory. A user's estimates come from that
  /// user's compiles alone.
  struct Kind {
    Account account;
    Digest kind;      ///< includes the program's headers and its size
    Digest any_like;  ///< all of this compiler; used for unknown kinds
  };
  /// A part of the limit.
  struct Part {
    [[nodiscard]] uint64_t free() const { return bytes - taken; }
    const uint64_t bytes;
    uint64_t taken = 0;
  };
  struct Taken {
    Part* of = nullptr;
    uint64_t bytes = 0;
    std::optional<Account> account;  ///< the account that is charged; none: idle
  };
  /// A compile that may run. The destructor frees its memory. Used by one thread.
  class Running {
   public:
    Running(CompileMemory& memory, const Kind& kind, const Taken& taken)
        : memory_(memory), kind_(kind), taken_(taken) {}
    ~Running() { memory_.End(*this); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    uint64_t peak_bytes = 0;  ///< as in CompileJob; 0: no new estimate
    bool ended = false;       ///< not stopped, so `peak_bytes` is its full need

   private:
    friend class CompileMemory;
    CompileMemory& memory_;
    const Kind kind_;
    const Taken taken_;
  };

  static constexpr size_t kMaxPassedBy = 8;
  static constexpr size_t kMaxPassedByAny = 64;
  static constexpr size_t kMaxKinds = 4096;
  static constexpr size_t kMaxKindsPerAccount = 256;
  /// The expected need of a compile of an unknown kind: twice what NVRTC 13.0 takes for a
  /// program over CUB's blocks (docs/internals/decisions/0057).
  static constexpr uint64_t kUnknownBytes = 512ull << 20;

  /// `limit`: in bytes; 0: none. `make_room` is called when a caller's compile has to wait, on its
  /// thread and without a lock. It stops idle compiles, which begin again later. May be empty.
  CompileMemory(uint64_t limit, Statistics& statistics, std::function<void()> make_room = {});
  CompileMemory(const CompileMemory&) = delete;
  CompileMemory& operator=(const CompileMemory&) = delete;

  /// Returns the kind of a job for this account. One pass over its text.
  [[nodiscard]] static Kind KindOf(const CompileJob& job, Account account);

  /// Blocks until the compile may start. Returns none if `stop` was requested first. Its peak
  /// updates the kind's estimate. Its rank and the charged account are those of the best placed
  /// caller.
  [[nodiscard]] std::optional<Running> Start(const Kind& kind, std::stop_token stop,
                                             Urgency urgency = Urgency::kCaller,
                                             const Callers& callers = {});
  /// Adds an account that waits for this flight's compile, if the compile waits for memory.
  void AddCaller(uint64_t flight, Account account);

  /// Returns the memory in bytes that a compile of this kind is expected to need.
  [[nodiscard]] uint64_t Expected(const Kind& kind) const;
  [[nodiscard]] MemoryActivity activity() const;
  /// Returns whether callers' compiles wait.
  [[nodiscard]] bool callers_wait() const;

 private:
  /// The lowest starts first.
  enum class Rank { kOverdue, kNewcomer, kCaller, kIdle };
  struct Waiter {
    uint64_t flight;
    std::vector<Account> accounts;  ///< of the callers; at least one
    Urgency urgency;
    uint64_t bytes;
    std::optional<Account> known_to;  ///< the account whose compiles gave the estimate `bytes`
    size_t passed_by = 0;
    std::optional<Taken> taken = {};  ///< set once it may start
  };
  using Waiters = std::list<Waiter*>;
  struct Use {
    size_t compiles = 0;
    uint64_t bytes = 0;
  };

  [[nodiscard]] uint64_t ExpectedOf(const Kind& kind) const REQUIRES(mutex_);
  [[nodiscard]] Use UseOf(Account account) const REQUIRES(mutex_);
  /// Returns the account, of its callers', with the least running.
  [[nodiscard]] Account BestOf(const Waiter& waiter) const REQUIRES(mutex_);
  [[nodiscard]] Rank RankOf(const Waiter& waiter) const REQUIRES(mutex_);
  /// Returns the compile's share of either part if it may start now; none: it keeps waiting.
  [[nodiscard]] std::optional<Taken> OfShared(const Waiter& waiter) REQUIRES(mutex_);
  [[nodiscard]] std::optional<Taken> OfReserve(const Waiter& waiter) REQUIRES(mutex_);
  /// Lets the next waiter take its memory and returns it, or the end if none may start now.
  Waiters::iterator Next() REQUIRES(mutex_);
  /// Starts all waiters that may start.
  void Admit() REQUIRES(mutex_);
  /// Puts this account's waiters behind all others.
  void PutLast(Account account) REQUIRES(mutex_);
  void End(const Running& running);
  /// A larger need raises the estimate at once; a smaller one lowers it gradually.
  void Learn(Account account, const Digest& kind, const Running& running) REQUIRES(mutex_);

  const uint64_t limit_;
  Statistics& statistics_;
  const std::function<void()> make_room_;
  mutable Mutex mutex_;
  CondVar changed_;
  PerUserLru<Digest, uint64_t, DigestHash, Account> needed_ GUARDED_BY(mutex_){
      {.max_entries = kMaxKinds, .max_entries_per_user = kMaxKindsPerAccount}};
  /// In the order in which they came; those of an account that ended its last compile are last.
  Waiters waiters_ GUARDED_BY(mutex_);
  std::map<Account, Use> used_by_ GUARDED_BY(mutex_);  ///< by callers' compiles; none without one
  Part reserve_ GUARDED_BY(mutex_);
  Part shared_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
