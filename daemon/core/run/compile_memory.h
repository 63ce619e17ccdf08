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
#include <string_view>
#include <utility>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/statistics.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Tracks the expected memory of running compiles and enforces its limit. The estimate for a
/// compile comes from earlier compiles of its kind. Thread-safe.
///
/// A reservation is memory for a run of a tool that a client starts itself, such as a step of nvcc.
/// It counts with the shared part of the compiles against three quarters of a limit of its own,
/// which is higher if the daemon's control group limits the compiles alone.
///
/// All compiles share three quarters of the limit. A compile that needs more counts as three
/// quarters, so that it can run. The last quarter is a reserve for compiles with a waiting caller
/// that do not fit into the shared part. The reserve serves accounts whose compiles use little
/// memory, root, and the daemon's own user. An account without a running compile may always start a
/// compile of at most `kUnknownBytes`, which is also the estimate for unknown kinds.
///
/// FairQueue decides which of its items gets memory next. An idle compile is one without a waiting
/// caller. It starts only while no item of FairQueue waits for memory.
class CompileMemory {
 public:
  /// A group of compiles that need about the same memory. It belongs to one account, so that a
  /// user's estimates depend only on the user's own compiles.
  struct Kind {
    Account account{0};
    Digest kind;      ///< covers the account, the toolchain, the program's #include lines and size
    Digest any_like;  ///< covers only the account and the toolchain; used if `kind` is unknown
  };
  /// Limits of the expected memory in bytes; 0: no limit.
  struct Limits {
    uint64_t compiles = 0;
    uint64_t with_reservations = 0;  ///< limit of compiles and reservations together
  };
  enum class Use : uint8_t { kCompile, kReservation };
  /// The reserve, the part that all compiles share, or the part that they share with reservations.
  struct Part {
    [[nodiscard]] uint64_t free() const { return bytes - taken; }
    const uint64_t bytes;
    uint64_t taken = 0;
  };
  struct Taken {
    Part* of = nullptr;
    uint64_t bytes = 0;
    std::optional<Account> account;  ///< the charged account; none for an idle compile
    Use use = Use::kCompile;
  };
  /// A running compile. The destructor frees its memory. Used by one thread.
  class Running {
   public:
    Running(CompileMemory& memory, const Kind& kind, const Taken& taken)
        : memory_(memory), kind_(kind), taken_(taken) {}
    ~Running() { memory_.End(*this); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    /// Returns whether the memory was taken from a shared part.
    [[nodiscard]] bool is_shared() const { return taken_.of != &memory_.reserve_; }

    uint64_t peak_bytes = 0;  ///< peak memory of the compile (CompileJob::peak_bytes); 0: the
                              ///< estimate does not change
    bool ended = false;       ///< whether the compile was not stopped, so that `peak_bytes` is its
                              ///< full need

   private:
    friend class CompileMemory;
    CompileMemory& memory_;
    const Kind kind_;
    const Taken taken_;
  };
  using RunningPtr = std::unique_ptr<Running>;

  static constexpr size_t kMaxKinds = 4096;
  static constexpr size_t kMaxKindsPerAccount = 256;
  /// The expected memory of a compile of an unknown kind. It is twice the memory that NVRTC 13.0
  /// needs for a program that uses CUB's block algorithms (docs/internals/decisions/0057).
  static constexpr uint64_t kUnknownBytes = 512ull << 20;

  /// `freed` is called after an idle compile has freed its memory, with no lock held. `freed` may
  /// be empty.
  CompileMemory(const Limits& limits, Statistics& statistics, std::function<void()> freed = {});
  /// With the same limit for compiles alone, and together with reservations.
  CompileMemory(uint64_t limit, Statistics& statistics, std::function<void()> freed = {})
      : CompileMemory(Limits{limit, limit}, statistics, std::move(freed)) {}
  CompileMemory(const CompileMemory&) = delete;
  CompileMemory& operator=(const CompileMemory&) = delete;

  /// Returns the kind of this job if the account runs it. Reads the program's text once.
  [[nodiscard]] static Kind KindOf(const CompileJob& job, Account account);
  /// Returns the kind of a reservation. The texts are chosen by the client: `kind` for runs that
  /// need about the same memory, `any_like` for all runs of the tool.
  [[nodiscard]] static Kind KindOf(Account account, std::string_view kind,
                                   std::string_view any_like);

  /// Starts a compile or a reservation for which a caller of the kind's account waits. Returns null
  /// if the memory does not fit now. At its end a compile updates the estimate of the kind with its
  /// peak memory. `may_share`: whether it may use a shared part.
  [[nodiscard]] RunningPtr TryStart(const Kind& kind, bool may_share = true,
                                    Use use = Use::kCompile);
  /// Updates the estimate of the kind with the peak memory of a run that has ended.
  void NotePeak(const Kind& kind, uint64_t peak_bytes);
  /// Blocks until an idle compile may start. Returns null if `stop` was requested first.
  [[nodiscard]] RunningPtr StartIdle(const Kind& kind, std::stop_token stop);
  /// The caller reports with these when an item of FairQueue begins and ends to wait for memory.
  void BeginWait();
  void EndWait();

  /// Returns the expected memory in bytes of a compile of this kind.
  [[nodiscard]] uint64_t Expected(const Kind& kind) const;
  [[nodiscard]] MemoryActivity activity() const;
  /// Returns whether items of FairQueue wait for memory.
  [[nodiscard]] bool items_wait() const;

 private:
  struct Used {
    size_t runs = 0;
    uint64_t bytes = 0;
  };

  [[nodiscard]] std::optional<uint64_t> KnownOf(const Kind& kind) const REQUIRES(mutex_);
  [[nodiscard]] uint64_t ExpectedOf(const Kind& kind) const REQUIRES(mutex_) {
    return KnownOf(kind).value_or(kUnknownBytes);
  }
  /// Returns the expected memory of a reservation.
  [[nodiscard]] uint64_t ReservedFor(const Kind& kind) const REQUIRES(mutex_);
  /// Returns shared memory. None if it does not fit now.
  [[nodiscard]] std::optional<Taken> OfShared(const Kind& kind, uint64_t bytes, Use use)
      REQUIRES(mutex_);
  void Take(const Taken& taken) REQUIRES(mutex_);
  /// Returns memory of the reserve for the compile. None if the compile may not use the reserve
  /// now.
  [[nodiscard]] std::optional<Taken> OfReserve(const Kind& kind, uint64_t bytes, Use use)
      REQUIRES(mutex_);
  void End(const Running& running);
  /// Updates the estimate of a kind. A larger peak raises it at once; a smaller peak lowers it
  /// gradually.
  void Learn(Account account, const Digest& kind, uint64_t peak, bool ended) REQUIRES(mutex_);

  const Limits limits_;
  Statistics& statistics_;
  const std::function<void()> freed_;
  mutable Mutex mutex_;
  CondVar changed_;
  PerUserLru<Digest, uint64_t, DigestHash, Account> needed_ GUARDED_BY(mutex_){
      {.max_entries = kMaxKinds, .max_entries_per_user = kMaxKindsPerAccount}};
  size_t items_waiting_ GUARDED_BY(mutex_) = 0;
  size_t idle_waiting_ GUARDED_BY(mutex_) = 0;
  size_t reservations_ GUARDED_BY(mutex_) = 0;
  /// Compiles with a waiting caller, and reservations. Accounts without one have no entry.
  std::map<Account, Used> used_by_ GUARDED_BY(mutex_);
  Part reserve_ GUARDED_BY(mutex_);
  Part shared_ GUARDED_BY(mutex_);
  Part reservable_ GUARDED_BY(mutex_);  ///< what is taken of shared_ is taken of this part, too
};

}  // namespace cccl_cache::daemon
