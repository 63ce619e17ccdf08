// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

/// The expected memory of running compiles, and its limit. The estimate for a compile comes from
/// earlier compiles of its kind. Thread-safe.
///
/// All compiles share three quarters of the limit. A compile that needs more counts as three
/// quarters, so that it can run. The last quarter is a reserve for callers' compiles that would
/// have to wait for the shared part: of accounts with few running compiles, of root, and of the
/// daemon's own user. An account without a running compile may always start a compile of at most
/// `kUnknownBytes`, which is also the estimate for unknown kinds.
///
/// FairQueue decides which of its items gets memory next. Compiles without a waiting caller (idle
/// compiles) start only while no item waits for memory.
class CompileMemory {
 public:
  /// Compiles of one account that need about the same memory. A user's estimates come only from
  /// that user's compiles.
  struct Kind {
    Account account{0};
    Digest kind;      ///< covers the program's headers and its size
    Digest any_like;  ///< covers only the compiler; used for unknown kinds
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
    std::optional<Account> account;  ///< the charged account; none for an idle compile
  };
  /// A running compile. The destructor frees its memory. Used by one thread.
  class Running {
   public:
    Running(CompileMemory& memory, const Kind& kind, const Taken& taken)
        : memory_(memory), kind_(kind), taken_(taken) {}
    ~Running() { memory_.End(*this); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// Returns whether its memory belongs to the shared part.
    [[nodiscard]] bool is_shared() const { return taken_.of == &memory_.shared_; }

    uint64_t peak_bytes = 0;  ///< as in CompileJob; 0 for no new estimate
    bool ended = false;       ///< whether it was not stopped, so that `peak_bytes` is its full need

   private:
    friend class CompileMemory;
    CompileMemory& memory_;
    const Kind kind_;
    const Taken taken_;
  };
  using RunningPtr = std::unique_ptr<Running>;

  static constexpr size_t kMaxKinds = 4096;
  static constexpr size_t kMaxKindsPerAccount = 256;
  /// The expected memory of a compile of an unknown kind: twice the need of NVRTC 13.0 for a
  /// program over CUB's blocks (docs/internals/decisions/0057).
  static constexpr uint64_t kUnknownBytes = 512ull << 20;

  /// `limit` is in bytes; 0 for none. `freed` is called when an idle compile has freed its memory,
  /// without a lock. It may be empty.
  CompileMemory(uint64_t limit, Statistics& statistics, std::function<void()> freed = {});
  CompileMemory(const CompileMemory&) = delete;
  CompileMemory& operator=(const CompileMemory&) = delete;

  /// Returns the kind of a job for this account. Reads its text once.
  [[nodiscard]] static Kind KindOf(const CompileJob& job, Account account);

  /// Starts a compile for which a caller of the kind's account waits. Returns null if its memory
  /// does not fit now. Its peak updates the kind's estimate. `may_share`: whether it may use the
  /// shared part.
  [[nodiscard]] RunningPtr TryStart(const Kind& kind, bool may_share = true);
  /// Blocks until an idle compile may start. Returns null if `stop` was requested first.
  [[nodiscard]] RunningPtr StartIdle(const Kind& kind, std::stop_token stop);
  /// Report the beginning and the end of an item's wait for memory.
  void BeginWait();
  void EndWait();

  /// Returns the expected memory in bytes of a compile of this kind.
  [[nodiscard]] uint64_t Expected(const Kind& kind) const;
  [[nodiscard]] MemoryActivity activity() const;
  /// Returns whether items wait for memory.
  [[nodiscard]] bool items_wait() const;

 private:
  struct Use {
    size_t compiles = 0;
    uint64_t bytes = 0;
  };

  [[nodiscard]] uint64_t ExpectedOf(const Kind& kind) const REQUIRES(mutex_);
  /// Returns the compile's part of the reserve, if it may use the reserve now.
  [[nodiscard]] std::optional<Taken> OfReserve(const Kind& kind, uint64_t bytes) REQUIRES(mutex_);
  void End(const Running& running);
  /// A larger peak raises the estimate at once. A smaller peak lowers it gradually.
  void Learn(Account account, const Digest& kind, const Running& running) REQUIRES(mutex_);

  const uint64_t limit_;
  Statistics& statistics_;
  const std::function<void()> freed_;
  mutable Mutex mutex_;
  CondVar changed_;
  PerUserLru<Digest, uint64_t, DigestHash, Account> needed_ GUARDED_BY(mutex_){
      {.max_entries = kMaxKinds, .max_entries_per_user = kMaxKindsPerAccount}};
  size_t items_waiting_ GUARDED_BY(mutex_) = 0;
  size_t idle_waiting_ GUARDED_BY(mutex_) = 0;
  std::map<Account, Use> used_by_ GUARDED_BY(mutex_);  ///< by callers' compiles; without zeros
  Part reserve_ GUARDED_BY(mutex_);
  Part shared_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
