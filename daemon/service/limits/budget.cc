// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{200};
/// Limits of uploads, snapshots and reflection streams. Such a call sends many messages and takes
/// no turn at ReadGate, so each may have one message of the maximum size in transfer at any time.
constexpr uint64_t kStreamsPerUid = 16;
constexpr uint64_t kStreamsInAll = 64;
/// Limit of all leases. The holder of a lease may also send a message at any time without a turn.
constexpr uint64_t kLeasesInAll = 256;
/// Limits of streams of builds (BuildMany). One stream suffices for a process with many builds.
constexpr uint64_t kBatchesPerUid = 32;
constexpr uint64_t kBatchesInAll = 128;
/// All streams of builds together may reserve the bytes in flight divided by this number, even if
/// they send nothing.
constexpr uint64_t kBatchesPartOfBytes = 2;
/// Limits of gRPC servers, because each has a thread, memory of gRPC and a few file descriptors.
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

/// Returns the bytes in flight that Budget may give. The rest is reserved for messages that
/// ReadGate admits (ServiceLimits::gate_turns).
uint64_t CountedBytes(const ServiceLimits& limits) {
  return limits.bytes_in_flight - limits.bytes_in_flight / 4;
}

/// Returns the maximum number of streams of builds. Each reserves a message of the maximum size.
uint64_t BatchesInAll(const ServiceLimits& limits) {
  const uint64_t bytes = CountedBytes(limits) / kBatchesPartOfBytes;
  return std::clamp<uint64_t>(bytes / limits.message_bytes, 1, kBatchesInAll);
}

template <typename Map>
std::vector<typename Map::key_type> Keys(const Map& map) {
  std::vector<typename Map::key_type> keys;
  for (const auto& each : map) keys.push_back(each.first);
  return keys;
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
    // The request is larger than the limit, so a later attempt would fail too: no retry time.
    return Error{ErrorCode::kOverloaded, fmt::format("{} {} at once: a user may have at most {}",
                                                     amount, kNames[index], allowance.per_account)};
  }
  const MutexLock lock(mutex_);
  const uint64_t mine = UsedBy(account, index);
  const uint64_t most = Most(account, index);
  if (!Fits(mine, amount, most)) {
    return Error{
        ErrorCode::kOverloaded,
        fmt::format("{} may have at most {} {} now and has {}, all users together have {} of {}: "
                    "wait for some to end",
                    account.Name(), most, kNames[index], mine, used_[index].in_all,
                    allowance.in_all),
        kRetryAfter};
  }
  return Count(account, resource, amount);
}

uint64_t Budget::UsedBy(Account account, size_t index) const {
  const auto found = users_.find(account);
  return found == users_.end() ? 0 : found->second[index];
}

uint64_t Budget::Most(Account account, size_t index) const {
  return allowances_[index].Most(account, UsedBy(account, index), used_[index]);
}

Share Budget::Count(Account account, Resource resource, uint64_t amount) {
  users_[account][Index(resource)] += amount;
  used_[Index(resource)].Add(account, amount);
  return Share(this, account, resource, amount);
}

void Budget::Await(Account account, Resource resource, uint64_t waiter, Given given) {
  Served served;
  {
    const MutexLock lock(mutex_);
    waiting_[Index(resource)][account].emplace(waiter, std::move(given));
    Serve(account, resource, served);
  }
  for (auto& [give, share] : served) give(std::move(share));
}

void Budget::Withdraw(Account account, Resource resource, uint64_t waiter) {
  Given withdrawn;  // declared before the lock, so destroyed after the unlock
  const MutexLock lock(mutex_);
  Waiting& all = waiting_[Index(resource)];
  const auto waiting = all.find(account);
  if (waiting == all.end()) return;
  if (const auto found = waiting->second.find(waiter); found != waiting->second.end()) {
    withdrawn = std::move(found->second);
    waiting->second.erase(found);
  }
  if (waiting->second.empty()) all.erase(waiting);
}

void Budget::Serve(Account account, Resource resource, Served& served) {
  const size_t index = Index(resource);
  const auto waiting = waiting_[index].find(account);
  if (waiting == waiting_[index].end()) return;
  auto& first = waiting->second;
  while (!first.empty() && Fits(UsedBy(account, index), 1, Most(account, index))) {
    served.emplace_back(std::move(first.begin()->second), Count(account, resource, 1));
    first.erase(first.begin());
  }
  if (first.empty()) waiting_[index].erase(waiting);
}

uint64_t Budget::Used(Resource resource) const {
  const MutexLock lock(mutex_);
  return used_[Index(resource)].in_all;
}

void Budget::Give(Account account, Resource resource, uint64_t amount) {
  const size_t index = Index(resource);
  Served served;
  {
    const MutexLock lock(mutex_);
    const auto found = users_.find(account);
    assert(found != users_.end() && found->second[index] >= amount &&
           used_[index].in_all >= amount);
    found->second[index] -= amount;
    used_[index].Remove(account, amount);
    if (std::ranges::all_of(found->second, [](uint64_t used) { return used == 0; })) {
      users_.erase(found);
    }
    Serve(account, resource, served);
    // The released amount counts for the bound on all accounts, and for the amount that each
    // account must leave free. Waiters of other accounts may therefore be served now, too.
    for (const Account& other : Keys(waiting_[index])) Serve(other, resource, served);
  }
  for (auto& [give, share] : served) give(std::move(share));
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
  // A later call of Add may already have replaced the expired entry by a new one.
  if (found != reading_.end() && found->second.expired()) reading_.erase(found);
}

}  // namespace cccl_cache::daemon
