// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/compile/zygote.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

struct ZygoteOptions {
  /// To start and load a toolchain.
  std::chrono::milliseconds start_deadline{30'000};
  /// Then a fresh one takes over.
  uint64_t forks_per_zygote = 1'000;
  /// Toolchains kept loaded at one time; the one unused for longest goes.
  size_t zygotes = 8;
  /// How long the jobs of an account one of whose workers died by a signal of its own are kept
  /// apart from those of others.
  std::chrono::milliseconds kept_apart{600'000};
  /// Whether a worker waits for the next job of each: not where no next one comes.
  bool forks_ahead = true;
  /// Told which sandbox the workers are in once the first zygote knows, and when that changes.
  /// Called from any thread, without a lock; may be empty.
  std::function<void(const ZygoteReady&)> announce_sandbox;
};

/// The zygotes of all toolchains in use, at most one of each that takes new jobs, and one for each
/// account that is kept apart. Thread-safe. A zygote that was given up ends when the last of its
/// jobs has.
class ZygotePool {
 public:
  /// Told of each zygote that is given up because something is wrong with it: one line for the log.
  /// Called from any thread; must not call back.
  using ReportFunction = std::function<void(std::string_view)>;

  using Clock = std::chrono::steady_clock;

  ZygotePool(std::string worker_path, ZygoteOptions options, ReportFunction report);
  ZygotePool(const ZygotePool&) = delete;
  ZygotePool& operator=(const ZygotePool&) = delete;

  /// A zygote that can take a job of this account, started if need be. kUnavailable: it could not
  /// be. kTimedOut: not by this deadline. kCancelled: stop was requested while another thread was
  /// starting it.
  Result<std::shared_ptr<Zygote>> Acquire(const Toolchain& toolchain, Account account,
                                          Clock::time_point deadline, std::stop_token stop);
  /// Gives up this zygote, for a reason that is reported.
  void Discard(const std::shared_ptr<Zygote>& zygote, std::string_view reason);
  /// For a while the account has zygotes of its own for this toolchain: those of others, and what
  /// was made in them, are not given up for what its next jobs do.
  void KeepApart(const Toolchain& toolchain, Account account);
  [[nodiscard]] bool IsKeptApart(const Toolchain& toolchain, Account account);
  /// Gives up the zygotes of all toolchains but these.
  void KeepOnly(std::span<const ToolchainPtr> toolchains);

 private:
  /// The serial, not the id: files that were changed and changed back have their old id again, and
  /// a zygote that loaded them in between must not serve it. And what a zygote is told.
  struct Key {
    uint64_t serial;
    std::string hello;
    std::optional<Account> apart;  ///< none: for all accounts that are not kept apart

    auto operator<=>(const Key&) const = default;
  };
  struct Slot {
    std::shared_ptr<Zygote> zygote;  ///< null: none yet
    bool starting = false;
    uint64_t last_use = 0;
  };
  using Slots = std::map<Key, Slot>;
  using Zygotes = std::vector<std::shared_ptr<Zygote>>;

  /// Fills the slot of this key, which is marked as starting.
  Result<std::shared_ptr<Zygote>> FillSlot(const Key& key, const Toolchain& toolchain,
                                           Clock::time_point deadline);
  Result<std::shared_ptr<Zygote>> Start(const Toolchain& toolchain, Clock::time_point deadline);
  /// The slot's zygote if it can take another job; else it is moved to `retired`. Needs mutex_.
  std::shared_ptr<Zygote> CurrentOf(Slot& slot, Zygotes& retired);
  /// Moves to `retired` what is over the bounds. Needs mutex_.
  void Shrink(Zygotes& retired);
  /// The same for the zygotes that are kept apart, or for those that are not.
  void Shrink(bool apart, size_t bound, Zygotes& retired);

  const std::string worker_path_;
  const ZygoteOptions options_;
  const ReportFunction report_;

  std::mutex mutex_;
  std::condition_variable_any started_;
  Slots slots_;  ///< guarded by mutex_
  /// Until when, by serial; guarded by mutex_.
  std::map<std::pair<uint64_t, Account>, Clock::time_point> apart_;
  uint64_t uses_ = 0;    ///< guarded by mutex_
  ZygoteReady sandbox_;  ///< as announced, guarded by mutex_
};

}  // namespace cccl_cache::daemon
