// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string_view>

namespace cccl_cached {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{200};
/// Calls that send many messages and wait for no turn (ReadGate): each may have one message of the
/// largest size on its way at any time.
constexpr uint64_t kStreamsPerUid = 16;
constexpr uint64_t kStreamsInAll = 64;
/// Holders of leases say something at any time: for them holds the same.
constexpr uint64_t kLeasesInAll = 256;
/// And for streams of builds: a process with many builds at once has one.
constexpr uint64_t kBatchesPerUid = 32;
constexpr uint64_t kBatchesInAll = 128;
/// All of these together, while nobody says anything, take no more than half of the bytes in
/// flight.
constexpr uint64_t kBatchesPartOfBytes = 2;

constexpr std::string_view kNames[] = {"connections",
                                       "calls in flight",
                                       "bytes of requests and replies in flight",
                                       "uploads, snapshots and reflection streams in progress",
                                       "bytes of uploads",
                                       "leases held",
                                       "streams of builds (BuildMany)"};
static_assert(std::size(kNames) == static_cast<size_t>(Resource::kCount));

/// As many streams of builds as that part has room for, each with its next message.
uint64_t BatchesInAll(const ServiceLimits& limits) {
  const uint64_t bytes = limits.bytes_in_flight / kBatchesPartOfBytes;
  return std::clamp<uint64_t>(bytes / limits.message_bytes, 1, kBatchesInAll);
}

size_t Index(Resource resource) { return static_cast<size_t>(resource); }

bool Fits(uint64_t used, uint64_t amount, uint64_t limit) {
  return amount <= limit && used <= limit - amount;
}

}  // namespace

Share& Share::operator=(Share&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(uid_, other.uid_);
  std::swap(resource_, other.resource_);
  std::swap(amount_, other.amount_);
  return *this;
}

void Share::Release() {
  if (budget_ != nullptr) budget_->Give(uid_, resource_, amount_);
  budget_ = nullptr;
  amount_ = 0;
}

void Share::Merge(Share&& other) {
  if (budget_ == nullptr) {
    *this = std::move(other);
    return;
  }
  if (other.budget_ == nullptr) return;
  assert(budget_ == other.budget_ && uid_ == other.uid_ && resource_ == other.resource_);
  amount_ += other.amount_;
  other.budget_ = nullptr;
  other.amount_ = 0;
}

Budget::Budget(const ServiceLimits& limits)
    : per_uid_{limits.connections_per_uid,
               limits.calls_per_uid,
               limits.bytes_in_flight_per_uid,
               kStreamsPerUid,
               limits.upload_bytes_per_uid,
               kLeasesPerUid,
               kBatchesPerUid},
      in_all_{limits.connections,  limits.calls, limits.bytes_in_flight, kStreamsInAll,
              limits.upload_bytes, kLeasesInAll, BatchesInAll(limits)} {}

Result<Share> Budget::Take(uid_t uid, Resource resource, uint64_t amount) {
  const size_t index = Index(resource);
  std::lock_guard lock(mutex_);
  const auto found = users_.find(uid);
  const uint64_t mine = found == users_.end() ? 0 : found->second[index];
  const uint64_t free = in_all_[index] - used_[index];
  // Held for as long as their holder likes.
  const bool held = resource == Resource::kLeases || resource == Resource::kBatches;
  const uint64_t most = held ? std::min(per_uid_[index], std::max(free, mine)) : per_uid_[index];
  if (amount > per_uid_[index]) {
    // Waiting does not help: no hint when to come back.
    return Error{ErrorCode::kOverloaded, fmt::format("{} {} at once: a user may have at most {}",
                                                     amount, kNames[index], per_uid_[index])};
  }
  if (!Fits(mine, amount, most)) {
    return Error{ErrorCode::kOverloaded,
                 fmt::format("user {} has {} {} of at most {}: wait for some to end", uid, mine,
                             kNames[index], most),
                 kRetryAfter};
  }
  if (!Fits(used_[index], amount, in_all_[index])) {
    return Error{ErrorCode::kOverloaded,
                 fmt::format("all users together have {} {} of at most {}: wait for some to end",
                             used_[index], kNames[index], in_all_[index]),
                 kRetryAfter};
  }
  users_[uid][index] += amount;
  used_[index] += amount;
  return Share(this, uid, resource, amount);
}

uint64_t Budget::Used(Resource resource) const {
  std::lock_guard lock(mutex_);
  return used_[Index(resource)];
}

void Budget::Give(uid_t uid, Resource resource, uint64_t amount) {
  const size_t index = Index(resource);
  std::lock_guard lock(mutex_);
  const auto found = users_.find(uid);
  assert(found != users_.end() && found->second[index] >= amount && used_[index] >= amount);
  found->second[index] -= amount;
  used_[index] -= amount;
  if (std::ranges::all_of(found->second, [](uint64_t used) { return used == 0; })) {
    users_.erase(found);
  }
}

}  // namespace cccl_cached
