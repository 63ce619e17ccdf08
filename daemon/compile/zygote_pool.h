// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/compile/zygote.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

struct ZygoteOptions {
  /// Deadline to start a zygote and load its toolchain.
  std::chrono::milliseconds start_deadline{30'000};
  /// Number of forks after which a new zygote replaces it.
  uint64_t forks_per_zygote = 1'000;
  /// Limit of the toolchains that are kept loaded; the least recently used one is dropped.
  size_t zygotes = 8;
  /// How long an account's jobs have zygotes of their own after one of its workers died by a signal
  /// of its own.
  std::chrono::milliseconds kept_apart{600'000};
  /// Each zygote forks a worker in advance for its next job. Off if no next job will come.
  bool forks_ahead = true;
  /// Called with the sandbox of the workers when the first zygote has reported it, and at each
  /// change. Called on any thread, without a lock; may be empty.
  std::function<void(const ZygoteReady&)> announce_sandbox;
};

/// The zygotes of all toolchains in use. A toolchain has at most one shared zygote that takes new
/// jobs, and one for each account that is kept apart. A discarded zygote ends after its last job.
/// Thread-safe.
class ZygotePool {
 public:
  /// Called on any thread with one line for the log for each zygote that is discarded because of an
  /// error. Must not call back.
  using ReportFunction = std::function<void(std::string_view)>;

  using Clock = std::chrono::steady_clock;

  ZygotePool(std::string worker_path, ZygoteOptions options, ReportFunction report);
  ZygotePool(const ZygotePool&) = delete;
  ZygotePool& operator=(const ZygotePool&) = delete;

  /// Returns a zygote that can take a job of this account, and starts one if necessary. Errors:
  /// kUnavailable if it could not be started, kTimedOut if it was not ready by the deadline,
  /// kCancelled if stop was requested while another thread was starting it.
  Result<std::shared_ptr<Zygote>> Acquire(const Toolchain& toolchain, Account account,
                                          Clock::time_point deadline, std::stop_token stop);
  /// Discards this zygote and reports the reason.
  void Discard(const std::shared_ptr<Zygote>& zygote, std::string_view reason);
  /// Gives the account zygotes of its own for this toolchain, for the time `kept_apart`, so that
  /// its jobs can't damage a zygote that other accounts use.
  void KeepApart(const Toolchain& toolchain, Account account);
  [[nodiscard]] bool IsKeptApart(const Toolchain& toolchain, Account account);
  /// Discards the zygotes of all toolchains except these.
  void KeepOnly(std::span<const ToolchainPtr> toolchains);
  /// Returns the zygotes that take new jobs.
  [[nodiscard]] std::vector<ZygoteActivity> List() const;

 private:
  /// The toolchain's serial and the zygote's hello. The id would not do: files that were changed
  /// and changed back have their old id, but a zygote that loaded them in between must not serve
  /// it.
  struct Key {
    uint64_t serial;
    std::string hello;
    std::optional<Account> apart;  ///< none: for all accounts that are not kept apart

    auto operator<=>(const Key&) const = default;
  };
  struct Slot {
    std::shared_ptr<Zygote> zygote;  ///< null: not started yet
    bool starting = false;
    std::string version;  ///< of the toolchain
    uint64_t last_use = 0;
  };
  using Slots = std::map<Key, Slot>;
  using Zygotes = std::vector<std::shared_ptr<Zygote>>;

  /// Starts a zygote for the slot of this key, which is marked as starting.
  Result<std::shared_ptr<Zygote>> FillSlot(const Key& key, const Toolchain& toolchain,
                                           Clock::time_point deadline);
  Result<std::shared_ptr<Zygote>> Start(const Toolchain& toolchain, Clock::time_point deadline);
  /// Returns the slot's zygote if it can take another job; otherwise moves it to `retired`.
  std::shared_ptr<Zygote> CurrentOf(Slot& slot, Zygotes& retired) REQUIRES(mutex_);
  /// Moves zygotes above the limits to `retired`.
  void Shrink(Zygotes& retired) REQUIRES(mutex_);
  /// Does the same for the zygotes that are kept apart, or for the others.
  void Shrink(bool apart, size_t bound, Zygotes& retired) REQUIRES(mutex_);

  const std::string worker_path_;
  const ZygoteOptions options_;
  const ReportFunction report_;

  mutable Mutex mutex_;
  CondVar started_;
  Slots slots_ GUARDED_BY(mutex_);
  /// End of the time in which an account is kept apart, by toolchain serial and account.
  std::map<std::pair<uint64_t, Account>, Clock::time_point> apart_ GUARDED_BY(mutex_);
  uint64_t uses_ GUARDED_BY(mutex_) = 0;
  ZygoteReady sandbox_ GUARDED_BY(mutex_);  ///< as last announced
};

}  // namespace cccl_cache::daemon
