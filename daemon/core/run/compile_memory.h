// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <stop_token>

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
/// One compile always runs, whatever it needs. A quarter of the limit is kept from further compiles
/// of accounts that have some running, but for root and the daemon's own user.
///
/// Order: compiles of accounts that have nothing running come first, then those that came first. A
/// compile that does not fit is passed by at most `kMaxPassedBy` later ones that fit, not counting
/// those that come first. After that, none behind it starts before it does.
class CompileMemory {
 public:
  /// Compiles that need about as much memory as each other, all of one account: no user changes
  /// what is expected of another's compiles.
  struct Kind {
    Account account;
    Digest kind;      ///< with the headers that the program includes, and its size
    Digest any_like;  ///< all of this compiler; used for kinds that are not known
  };
  /// A compile that may run. Its memory is free again when this is destroyed. Used by one thread.
  class Running {
   public:
    Running(CompileMemory& memory, const Kind& kind, uint64_t expected)
        : memory_(memory), kind_(kind), expected_(expected) {}
    ~Running() { memory_.End(*this); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    uint64_t peak_bytes = 0;  ///< as in CompileJob; 0: nothing is learned
    bool ended = false;       ///< by itself, so that `peak_bytes` is all that it needs

   private:
    friend class CompileMemory;
    CompileMemory& memory_;
    const Kind kind_;
    const uint64_t expected_;
  };

  static constexpr size_t kMaxPassedBy = 8;
  static constexpr size_t kMaxKinds = 4096;
  static constexpr size_t kMaxKindsPerAccount = 256;
  /// The expected need of a compile of an unknown kind: twice what NVRTC 13.0 takes for a
  /// program over CUB's blocks (docs/internals/decisions/0057).
  static constexpr uint64_t kUnknownBytes = 512ull << 20;

  /// `limit`: in bytes; 0: none.
  CompileMemory(uint64_t limit, Statistics& statistics) : limit_(limit), statistics_(statistics) {}
  CompileMemory(const CompileMemory&) = delete;
  CompileMemory& operator=(const CompileMemory&) = delete;

  /// Returns the kind of a job for this account. One pass over its text.
  [[nodiscard]] static Kind KindOf(const CompileJob& job, Account account);

  /// Blocks until the compile may start. Returns none if `stop` was requested first.
  [[nodiscard]] std::optional<Running> Start(const Kind& kind, std::stop_token stop);

  /// Returns the memory in bytes that a compile of this kind is expected to need.
  [[nodiscard]] uint64_t Expected(const Kind& kind) const;
  [[nodiscard]] MemoryActivity activity() const;

 private:
  struct Waiter {
    Account account;
    uint64_t bytes;
    size_t passed_by = 0;
    bool may_start = false;
  };
  using Waiters = std::list<Waiter*>;

  [[nodiscard]] uint64_t ExpectedOf(const Kind& kind) const REQUIRES(mutex_);
  [[nodiscard]] bool Fits(const Waiter& waiter) const REQUIRES(mutex_);
  /// Returns the next waiter that may start now, or the end.
  Waiters::iterator Next() REQUIRES(mutex_);
  /// Lets all waiters start that may.
  void Admit() REQUIRES(mutex_);
  void End(const Running& running);
  /// Larger needs count at once, smaller ones little by little.
  void Learn(Account account, const Digest& kind, const Running& running) REQUIRES(mutex_);

  const uint64_t limit_;
  Statistics& statistics_;
  mutable Mutex mutex_;
  CondVar changed_;
  PerUserLru<Digest, uint64_t, DigestHash, Account> needed_ GUARDED_BY(mutex_){
      {.max_entries = kMaxKinds, .max_entries_per_user = kMaxKindsPerAccount}};
  Waiters waiters_ GUARDED_BY(mutex_);                       ///< in the order in which they came
  std::map<Account, size_t> running_of_ GUARDED_BY(mutex_);  ///< no zeros
  uint64_t expected_ GUARDED_BY(mutex_) = 0;                 ///< of all that run
};

}  // namespace cccl_cache::daemon
