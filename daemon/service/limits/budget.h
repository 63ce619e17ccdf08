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

/// The resources that a client can use up.
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

/// Part of a budget, released by the destructor. Not thread-safe; the budget must outlive it.
class Share {
 public:
  Share() = default;
  Share(Share&& other) noexcept { *this = std::move(other); }
  Share& operator=(Share&& other) noexcept;
  ~Share() { Release(); }

  void Release();
  /// Adds another share of the same account and resource to this one.
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

/// Counts the present use of each resource, for each account and for all accounts together
/// (Allowance). Thread-safe.
class Budget {
 public:
  explicit Budget(const ServiceLimits& limits);

  /// Takes a share of the resource. kOverloaded names the exhausted resource and the account.
  [[nodiscard]] Result<Share> Take(Account account, Resource resource, uint64_t amount = 1);
  using Given = std::function<void(Share)>;
  /// Gives the account one unit of the resource as soon as the limits allow it: before this
  /// returns, or later on the thread that releases a unit. `given` is called without a lock.
  /// Waiters of one account are served in the order of `waiter`, a number that the caller chooses.
  void Await(Account account, Resource resource, uint64_t waiter, Given given);
  /// Removes a waiter. A `given` in progress may still run. Does nothing for an unknown waiter.
  void Withdraw(Account account, Resource resource, uint64_t waiter);
  /// Returns the present use of all accounts.
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
  /// Takes the shares that the waiters of this account may have now.
  void Serve(Account account, Resource resource, Served& served) REQUIRES(mutex_);

  const std::array<Allowance, static_cast<size_t>(Resource::kCount)> allowances_;
  mutable Mutex mutex_;
  std::array<HeldInAll, static_cast<size_t>(Resource::kCount)> used_ GUARDED_BY(mutex_) = {};
  std::map<Account, Amounts> users_ GUARDED_BY(mutex_);  // only accounts with any use
  std::array<Waiting, static_cast<size_t>(Resource::kCount)> waiting_ GUARDED_BY(mutex_);
};

/// Counts deposits in transfer among the bytes of the receiving accounts. The same bytes count once
/// per account, even if several of its calls share them. A thousand waiters for one deposit thus
/// count as much as they hold in memory, and a slow reader costs other accounts nothing.
/// Thread-safe.
class DepositReaders {
 public:
  /// The budget must outlive this object, which must outlive all returned handles.
  explicit DepositReaders(Budget& budget) : budget_(budget) {}

  /// Returns a handle to hold while the contents are sent. kOverloaded: the account has too many
  /// bytes in flight.
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
