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

/// Starts compiles only while the memory that they are expected to need fits a limit. What earlier
/// compiles of a kind needed is what the next one is expected to need. Thread-safe.
///
/// Three quarters of the limit are shared by all compiles. One that needs more counts as three
/// quarters, so each can run. First come callers' compiles of accounts that have none running: an
/// account whose last one just ended is behind the others. Then come other callers' compiles by
/// age, then those that no caller waits for. A caller's compile that does not fit is passed by at
/// most `kMaxPassedBy` others of its rank or below, and by `kMaxPassedByAny` of any rank.
///
/// The last quarter is a reserve for callers' compiles that would have to wait for the shared part:
/// of accounts with little running, of root, and of the daemon's own user. An account with none
/// running starts an ordinary compile at once, whatever runs and waits: an unknown one, or one that
/// needs no more than `kUnknownBytes`.
class CompileMemory {
 public:
  enum class Urgency {
    kCaller,  ///< a caller waits for it
    kIdle,    ///< no caller does
  };
  /// The callers that wait for a compile, those that come later included.
  struct Callers {
    uint64_t flight;                                 ///< as in AddCaller
    std::function<std::vector<Account>()> accounts;  ///< called once; may be empty
  };
  /// Compiles that need about as much memory as each other, all of one account: what is expected of
  /// a user's compiles is learned from that user's alone.
  struct Kind {
    Account account;
    Digest kind;      ///< with the headers that the program includes, and its size
    Digest any_like;  ///< all of this compiler; used for kinds that are not known
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
    std::optional<Account> account;  ///< whose use it is; none: idle
  };
  /// A compile that may run. Its memory is free again when this is destroyed. Used by one thread.
  class Running {
   public:
    Running(CompileMemory& memory, const Kind& kind, const Taken& taken)
        : memory_(memory), kind_(kind), taken_(taken) {}
    ~Running() { memory_.End(*this); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    uint64_t peak_bytes = 0;  ///< as in CompileJob; 0: nothing is learned
    bool ended = false;       ///< by itself, so that `peak_bytes` is all that it needs

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
  /// thread and without a lock: it ends idle ones that can begin again later. May be empty.
  CompileMemory(uint64_t limit, Statistics& statistics, std::function<void()> make_room = {});
  CompileMemory(const CompileMemory&) = delete;
  CompileMemory& operator=(const CompileMemory&) = delete;

  /// Returns the kind of a job for this account. One pass over its text.
  [[nodiscard]] static Kind KindOf(const CompileJob& job, Account account);

  /// Blocks until the compile may start. Returns none if `stop` was requested first. What is
  /// learned is the kind's; who may start, and whose memory it is, the best placed of all callers
  /// decides.
  [[nodiscard]] std::optional<Running> Start(const Kind& kind, std::stop_token stop,
                                             Urgency urgency = Urgency::kCaller,
                                             const Callers& callers = {});
  /// Another account waits for the compile of this flight, if that waits for memory.
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
    std::optional<Account> known_to;  ///< `bytes` is what this account's of its kind needed
    size_t passed_by = 0;
    std::optional<Taken> taken = {};  ///< it may start
  };
  using Waiters = std::list<Waiter*>;
  struct Use {
    size_t compiles = 0;
    uint64_t bytes = 0;
  };

  [[nodiscard]] uint64_t ExpectedOf(const Kind& kind) const REQUIRES(mutex_);
  [[nodiscard]] Use UseOf(Account account) const REQUIRES(mutex_);
  /// Returns the caller's account that has least running.
  [[nodiscard]] Account BestOf(const Waiter& waiter) const REQUIRES(mutex_);
  [[nodiscard]] Rank RankOf(const Waiter& waiter) const REQUIRES(mutex_);
  /// Returns what the compile takes of either part if it starts now; none: it waits on.
  [[nodiscard]] std::optional<Taken> OfShared(const Waiter& waiter) REQUIRES(mutex_);
  [[nodiscard]] std::optional<Taken> OfReserve(const Waiter& waiter) REQUIRES(mutex_);
  /// Lets the next waiter take its memory and returns it, or the end if none may start now.
  Waiters::iterator Next() REQUIRES(mutex_);
  /// Lets all waiters start that may.
  void Admit() REQUIRES(mutex_);
  /// Puts this account's waiters behind all others.
  void PutLast(Account account) REQUIRES(mutex_);
  void End(const Running& running);
  /// Larger needs count at once, smaller ones little by little.
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
