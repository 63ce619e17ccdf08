// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string_view>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{200};
/// Calls that send many messages and wait for no turn (ReadGate). Each may have one message of the
/// maximum size on its way at any time.
constexpr uint64_t kStreamsPerUid = 16;
constexpr uint64_t kStreamsInAll = 64;
/// Lease holders may send at any time too, so they have a bound for the same reason.
constexpr uint64_t kLeasesInAll = 256;
/// Streams of builds have one as well. A process with many builds at once has one stream.
constexpr uint64_t kBatchesPerUid = 32;
constexpr uint64_t kBatchesInAll = 128;
/// The part of the bytes in flight (one half) that all silent streams of builds together may take.
constexpr uint64_t kBatchesPartOfBytes = 2;
/// Each server has a thread, memory of gRPC's and a few descriptors.
constexpr uint64_t kServersPerUid = 256;
constexpr uint64_t kServersInAll = 1024;

constexpr std::string_view kNames[] = {"connections",
                                       "calls in flight",
                                       "bytes of requests and replies in flight",
                                       "uploads, snapshots and reflection streams in progress",
                                       "bytes of uploads",
                                       "leases held",
                                       "streams of builds (BuildMany)",
                                       "servers for sets of groups"};
static_assert(std::size(kNames) == static_cast<size_t>(Resource::kCount));

/// Returns the bytes in flight without the part for messages that are being received
/// (ServiceLimits::gate_turns).
uint64_t CountedBytes(const ServiceLimits& limits) {
  return limits.bytes_in_flight - limits.bytes_in_flight / 4;
}

/// Returns how many streams of builds, each with its next message, that part has room for.
uint64_t BatchesInAll(const ServiceLimits& limits) {
  const uint64_t bytes = CountedBytes(limits) / kBatchesPartOfBytes;
  return std::clamp<uint64_t>(bytes / limits.message_bytes, 1, kBatchesInAll);
}

size_t Index(Resource resource) { return static_cast<size_t>(resource); }

bool Fits(uint64_t used, uint64_t amount, uint64_t limit) {
  return amount <= limit && used <= limit - amount;
}

}  // namespace

Share& Share::operator=(Share&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(account_, other.account_);
  std::swap(resource_, other.resource_);
  std::swap(amount_, other.amount_);
  return *this;
}

void Share::Release() {
  if (budget_ != nullptr) budget_->Give(account_, resource_, amount_);
  budget_ = nullptr;
  amount_ = 0;
}

void Share::Merge(Share&& other) {
  if (budget_ == nullptr) {
    *this = std::move(other);
    return;
  }
  if (other.budget_ == nullptr) return;
  assert(budget_ == other.budget_ && account_ == other.account_ && resource_ == other.resource_);
  amount_ += other.amount_;
  other.budget_ = nullptr;
  other.amount_ = 0;
}

Budget::Budget(const ServiceLimits& limits)
    : allowances_{{{limits.connections_per_uid, limits.connections},
                   {limits.calls_per_uid, limits.calls},
                   {limits.bytes_in_flight_per_uid, CountedBytes(limits)},
                   {kStreamsPerUid, kStreamsInAll},
                   {limits.upload_bytes_per_uid, limits.upload_bytes},
                   {kLeasesPerUid, kLeasesInAll},
                   {kBatchesPerUid, BatchesInAll(limits)},
                   {kServersPerUid, kServersInAll}}} {}

Result<Share> Budget::Take(Account account, Resource resource, uint64_t amount) {
  const size_t index = Index(resource);
  const Allowance& allowance = allowances_[index];
  if (amount > allowance.per_account) {
    // Waiting does not help, so the error has no retry time.
    return Error{ErrorCode::kOverloaded, fmt::format("{} {} at once: a user may have at most {}",
                                                     amount, kNames[index], allowance.per_account)};
  }
  const MutexLock lock(mutex_);
  const auto found = users_.find(account);
  const uint64_t mine = found == users_.end() ? 0 : found->second[index];
  const uint64_t most = allowance.Most(account, mine, used_[index]);
  if (!Fits(mine, amount, most)) {
    return Error{
        ErrorCode::kOverloaded,
        fmt::format("{} may have at most {} {} now and has {}, all users together have {} of {}: "
                    "wait for some to end",
                    account.Name(), most, kNames[index], mine, used_[index], allowance.in_all),
        kRetryAfter};
  }
  users_[account][index] += amount;
  used_[index] += amount;
  return Share(this, account, resource, amount);
}

uint64_t Budget::Used(Resource resource) const {
  const MutexLock lock(mutex_);
  return used_[Index(resource)];
}

void Budget::Give(Account account, Resource resource, uint64_t amount) {
  const size_t index = Index(resource);
  const MutexLock lock(mutex_);
  const auto found = users_.find(account);
  assert(found != users_.end() && found->second[index] >= amount && used_[index] >= amount);
  found->second[index] -= amount;
  used_[index] -= amount;
  if (std::ranges::all_of(found->second, [](uint64_t used) { return used == 0; })) {
    users_.erase(found);
  }
}

Result<std::shared_ptr<const void>> DepositReaders::Add(Account account,
                                                        const DepositContents& contents) {
  const Key key{account, contents.get()};
  const MutexLock lock(mutex_);
  if (const auto found = reading_.find(key); found != reading_.end()) {
    if (auto reading = found->second.lock()) return std::shared_ptr<const void>(reading);
  }
  auto share = budget_.Take(account, Resource::kBytes, contents->size());
  if (!share) return share.error();
  const std::shared_ptr<const Reading> reading(new Reading{contents, *std::move(share)},
                                               [this, key](const Reading* done) {
                                                 delete done;
                                                 Forget(key);
                                               });
  reading_[key] = reading;
  return std::shared_ptr<const void>(reading);
}

void DepositReaders::Forget(const Key& key) {
  const MutexLock lock(mutex_);
  const auto found = reading_.find(key);
  // Others may have begun to read the same contents meanwhile.
  if (found != reading_.end() && found->second.expired()) reading_.erase(found);
}

}  // namespace cccl_cache::daemon
