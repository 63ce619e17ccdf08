// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The limited resources of the daemon.
enum class Resource : uint8_t {
  kConnections,
  kCalls,
  kBytes,
  kStreams,
  kUploadBytes,
  kLeases,
  kBatches,
  kServers,
  kCount
};

/// Maximum number of leases that an account may hold at one time.
inline constexpr uint64_t kLeasesPerUid = 64;

class Budget;

/// An amount of one resource that an account holds. The destructor returns it to the budget, which
/// must outlive this object. A default-constructed share holds nothing. Not thread-safe.
class Share {
 public:
  Share() = default;
  Share(Share&& other) noexcept { *this = std::move(other); }
  Share& operator=(Share&& other) noexcept;
  ~Share() { Release(); }

  void Release();
  /// Adds the amount of `other`, which must be of the same account and resource, to this share.
  /// `other` holds nothing afterwards.
  void Merge(Share&& other);
  [[nodiscard]] uint64_t amount() const { return amount_; }

 private:
  friend class Budget;
  Share(Budget* budget, Account account, Resource resource, uint64_t amount)
      : budget_(budget), account_(account), resource_(resource), amount_(amount) {}

  Budget* budget_ = nullptr;
  Account account_{0};
  Resource resource_ = Resource::kConnections;
  uint64_t amount_ = 0;
};

/// Counts how much of each resource each account and all accounts together hold, and refuses more
/// than the limits allow (Allowance). Thread-safe.
class Budget {
 public:
  explicit Budget(const ServiceLimits& limits);

  /// Takes this amount of the resource for the account. Returns kOverloaded if a limit is reached.
  /// The error's text names the resource.
  [[nodiscard]] Result<Share> Take(Account account, Resource resource, uint64_t amount = 1);
  using Given = std::function<void(Share)>;
  /// Calls `given` with one unit of the resource as soon as the limits allow it: during this call,
  /// or later on a thread that releases a share. No lock is held during `given`. The waiters of one
  /// account are served in ascending order of `waiter`, a unique number that the caller chooses.
  void Await(Account account, Resource resource, uint64_t waiter, Given given);
  /// Removes a waiter that Await has added. If another thread is already calling its `given`, that
  /// call may continue after the return. Does nothing for an unknown waiter.
  void Withdraw(Account account, Resource resource, uint64_t waiter);
  /// Returns the amount of the resource that all accounts hold now.
  [[nodiscard]] uint64_t Used(Resource resource) const;

 private:
  friend class Share;
  using Amounts = std::array<uint64_t, static_cast<size_t>(Resource::kCount)>;
  void Give(Account account, Resource resource, uint64_t amount);
  using Waiting = std::map<Account, std::map<uint64_t, Given>>;
  using Served = std::vector<std::pair<Given, Share>>;
  [[nodiscard]] uint64_t Most(Account account, size_t index) const REQUIRES(mutex_);
  [[nodiscard]] uint64_t UsedBy(Account account, size_t index) const REQUIRES(mutex_);
  Share Count(Account account, Resource resource, uint64_t amount) REQUIRES(mutex_);
  /// Moves those waiters of this account that the limits allow now to `served`, with one unit each.
  /// The caller must call them after it has released the lock.
  void Serve(Account account, Resource resource, Served& served) REQUIRES(mutex_);

  const std::array<Allowance, static_cast<size_t>(Resource::kCount)> allowances_;
  mutable Mutex mutex_;
  std::array<HeldInAll, static_cast<size_t>(Resource::kCount)> used_ GUARDED_BY(mutex_) = {};
  std::map<Account, Amounts> users_ GUARDED_BY(mutex_);  // only accounts that hold something
  std::array<Waiting, static_cast<size_t>(Resource::kCount)> waiting_ GUARDED_BY(mutex_);
};

/// Counts the contents of deposits that are being sent among the bytes in flight of the receiving
/// account. Contents count once per account even if several of its calls send them, because those
/// calls share one copy in memory. A slow reader thus uses only the limit of its own account.
/// Thread-safe.
class DepositReaders {
 public:
  /// The budget must outlive this object. This object must outlive all handles that Add returns.
  explicit DepositReaders(Budget& budget) : budget_(budget) {}

  /// Counts the contents for the account until the last handle for them is released. The caller
  /// holds the handle while it sends. Returns kOverloaded if the account has too many bytes in
  /// flight.
  [[nodiscard]] Result<std::shared_ptr<const void>> Add(Account account,
                                                        const DepositContents& contents);

 private:
  struct Reading {
    DepositContents contents;
    Share share;
  };
  using Key = std::pair<Account, const void*>;
  void Forget(const Key& key);

  Budget& budget_;
  Mutex mutex_;
  std::map<Key, std::weak_ptr<const Reading>> reading_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
