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
  /// Limit of the number of shared zygotes, each with one toolchain. Above it, the least recently
  /// used zygote is ended.
  size_t zygotes = 8;
  /// How long an account has zygotes of its own (KeepApart).
  std::chrono::milliseconds kept_apart{600'000};
  /// Whether each zygote forks a worker in advance for the next job. False where no next job is
  /// expected, as in local builds.
  bool forks_ahead = true;
  /// Called when the first zygote has reported the sandbox of its workers, and whenever a zygote
  /// reports another one. Called on any thread, without a lock. May be empty.
  std::function<void(const ZygoteReady&)> announce_sandbox;
};

/// The zygotes of all toolchains in use. For each toolchain, at most one shared zygote accepts
/// jobs. An account that is kept apart has another one for each toolchain. A discarded zygote
/// accepts no jobs and ends after its last one. Thread-safe.
class ZygotePool {
 public:
  /// Called with one line for the log when a zygote is discarded because of an error. Called on any
  /// thread. Must not call functions of this ZygotePool.
  using ReportFunction = std::function<void(std::string_view)>;

  using Clock = std::chrono::steady_clock;

  ZygotePool(std::string worker_path, ZygoteOptions options, ReportFunction report);
  ZygotePool(const ZygotePool&) = delete;
  ZygotePool& operator=(const ZygotePool&) = delete;

  /// Returns a zygote that accepts a job of this account. Starts one if necessary. Returns
  /// kUnavailable if it can't be started, and kTimedOut if it is not ready at `deadline`. Returns
  /// kCancelled if a stop is requested while another thread starts it.
  Result<std::shared_ptr<Zygote>> Acquire(const Toolchain& toolchain, Account account,
                                          Clock::time_point deadline, std::stop_token stop);
  /// Discards this zygote, and passes the reason to the ReportFunction.
  void Discard(const std::shared_ptr<Zygote>& zygote, std::string_view reason);
  /// For the time ZygoteOptions::kept_apart, jobs of this account and toolchain get a zygote that
  /// no other account uses, so that they can't damage a shared one.
  void KeepApart(const Toolchain& toolchain, Account account);
  [[nodiscard]] bool IsKeptApart(const Toolchain& toolchain, Account account);
  /// Discards the zygotes of all toolchains except these.
  void KeepOnly(std::span<const ToolchainPtr> toolchains);
  /// Returns the zygotes that accept jobs.
  [[nodiscard]] std::vector<ZygoteActivity> List() const;

 private:
  /// The serial number of the toolchain, and the encoded ZygoteHello. The toolchain's id is not
  /// enough: if its files were changed and then restored, the id is the old one, but a zygote that
  /// has loaded the changed files must not be used.
  struct Key {
    uint64_t serial;
    std::string hello;
    std::optional<Account> apart;  ///< none for the shared zygote

    auto operator<=>(const Key&) const = default;
  };
  struct Slot {
    std::shared_ptr<Zygote> zygote;  ///< null while it is being started
    bool starting = false;
    std::string version;  ///< version of the toolchain, for List()
    uint64_t last_use = 0;
  };
  using Slots = std::map<Key, Slot>;
  using Zygotes = std::vector<std::shared_ptr<Zygote>>;

  /// Starts a zygote for the slot of this key. The caller must have set `starting` in the slot.
  Result<std::shared_ptr<Zygote>> FillSlot(const Key& key, const Toolchain& toolchain,
                                           Clock::time_point deadline);
  Result<std::shared_ptr<Zygote>> Start(const Toolchain& toolchain, Clock::time_point deadline);
  /// Returns the slot's zygote if it can take another job. Otherwise moves it to `retired` and
  /// returns null.
  std::shared_ptr<Zygote> CurrentOf(Slot& slot, Zygotes& retired) REQUIRES(mutex_);
  /// Removes the least recently used zygotes above the limits and moves them to `retired`.
  void Shrink(Zygotes& retired) REQUIRES(mutex_);
  /// Applies the limit `bound` to the zygotes of single accounts (if `apart`), or to the shared
  /// ones.
  void Shrink(bool apart, size_t bound, Zygotes& retired) REQUIRES(mutex_);

  const std::string worker_path_;
  const ZygoteOptions options_;
  const ReportFunction report_;

  mutable Mutex mutex_;
  CondVar started_;
  Slots slots_ GUARDED_BY(mutex_);
  /// The time until which an account is kept apart, by toolchain serial and account.
  std::map<std::pair<uint64_t, Account>, Clock::time_point> apart_ GUARDED_BY(mutex_);
  uint64_t uses_ GUARDED_BY(mutex_) = 0;
  ZygoteReady sandbox_ GUARDED_BY(mutex_);  ///< the last sandbox that a zygote reported
};

}  // namespace cccl_cache::daemon
