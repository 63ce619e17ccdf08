// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What a client can use up.
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

/// An account may hold so many leases at one time.
inline constexpr uint64_t kLeasesPerUid = 64;

class Budget;

/// Part of a budget, given back at its end. Not thread-safe; the budget must outlive it.
class Share {
 public:
  Share() = default;
  Share(Share&& other) noexcept { *this = std::move(other); }
  Share& operator=(Share&& other) noexcept;
  ~Share() { Release(); }

  void Release();
  /// Adds another share of the same account and resource.
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

/// How much of everything each account and all of them together use now (Allowance). Thread-safe.
class Budget {
 public:
  explicit Budget(const ServiceLimits& limits);

  /// kOverloaded names what is used up and by whom.
  [[nodiscard]] Result<Share> Take(Account account, Resource resource, uint64_t amount = 1);
  /// What all accounts use now.
  [[nodiscard]] uint64_t Used(Resource resource) const;

 private:
  friend class Share;
  using Amounts = std::array<uint64_t, static_cast<size_t>(Resource::kCount)>;
  void Give(Account account, Resource resource, uint64_t amount);

  const std::array<Allowance, static_cast<size_t>(Resource::kCount)> allowances_;
  mutable std::mutex mutex_;
  Amounts used_{};                    // guarded by mutex_
  std::map<Account, Amounts> users_;  // guarded by mutex_; those that use anything
};

/// Counts deposits that are being sent among the bytes of those whom they are sent to: the same
/// bytes once for each user, however many of his calls share them. So a thousand who waited for one
/// deposit cost what they hold in memory, and who reads slowly costs nobody else. Thread-safe.
class DepositReaders {
 public:
  /// The budget must outlive the object, and this all that it hands out.
  explicit DepositReaders(Budget& budget) : budget_(budget) {}

  /// To be held while the contents are sent. kOverloaded: the user has too many bytes under way.
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
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Reading>> reading_;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
