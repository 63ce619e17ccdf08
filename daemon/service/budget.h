// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "daemon/core/result.h"
#include "daemon/service/service_limits.h"

namespace cccl_cached {

/// What a client can use up.
enum class Resource : uint8_t {
  kConnections,
  kCalls,
  kBytes,
  kStreams,
  kUploadBytes,
  kLeases,
  kBatches,
  kCount
};

/// A uid may hold so many leases at one time, and no more than are free: so it takes many uids to
/// take them all, and each that comes gets some. So it is with streams of builds.
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
  /// Adds another share of the same uid and resource.
  void Merge(Share&& other);
  [[nodiscard]] uint64_t amount() const { return amount_; }

 private:
  friend class Budget;
  Share(Budget* budget, uid_t uid, Resource resource, uint64_t amount)
      : budget_(budget), uid_(uid), resource_(resource), amount_(amount) {}

  Budget* budget_ = nullptr;
  uid_t uid_ = 0;
  Resource resource_ = Resource::kConnections;
  uint64_t amount_ = 0;
};

/// How much of everything each uid and all of them together use now. Thread-safe.
class Budget {
 public:
  explicit Budget(const ServiceLimits& limits);

  /// kOverloaded names what is used up and by whom.
  [[nodiscard]] Result<Share> Take(uid_t uid, Resource resource, uint64_t amount = 1);
  /// What all uids use now.
  [[nodiscard]] uint64_t Used(Resource resource) const;

 private:
  friend class Share;
  using Amounts = std::array<uint64_t, static_cast<size_t>(Resource::kCount)>;
  void Give(uid_t uid, Resource resource, uint64_t amount);

  const Amounts per_uid_;
  const Amounts in_all_;
  mutable std::mutex mutex_;
  Amounts used_{};                            // guarded by mutex_
  std::unordered_map<uid_t, Amounts> users_;  // guarded by mutex_; nobody who uses nothing
};

}  // namespace cccl_cached
