// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/result_cache.h"

#include <sched.h>

#include <utility>

namespace cccl_cache {
namespace {

// Estimated bytes that an entry takes in addition to its request and reply.
constexpr uint64_t kOverhead = 512;
// An entry may take at most the capacity divided by this number. Otherwise a large one would evict
// all others.
constexpr uint64_t kMaxShare = 4;

}  // namespace

class ResultCache::Lock {
 public:
  explicit Lock(std::atomic_flag& flag) : flag_(flag) {
    // A thread holds the lock for less than a microsecond. If the lock is not free after this many
    // attempts, it was held at a fork by a thread that does not exist in this process.
    constexpr int kAttempts = 1000;
    for (int i = 0; i < kAttempts && !held_; ++i) {
      held_ = !flag_.test_and_set(std::memory_order_acquire);
      if (!held_ && i % 100 == 99) sched_yield();
    }
  }
  ~Lock() {
    if (held_) flag_.clear(std::memory_order_release);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  /// Returns whether the lock was acquired. If not, the contents must not be accessed.
  [[nodiscard]] bool held() const { return held_; }

 private:
  std::atomic_flag& flag_;
  bool held_ = false;
};

ResultCache::ResultCache(uint64_t bytes)
    : limit_(bytes), contents_(std::make_unique<Contents>(bytes)) {}

ResultCache::~ResultCache() {
  const Lock lock(held_);
  // If the lock can't be acquired, a thread was changing the contents at the fork. They may be
  // inconsistent, so they are not destroyed.
  if (!lock.held()) static_cast<void>(contents_.release());
}

std::shared_ptr<const BuildReply> ResultCache::Find(const RequestMessage& request,
                                                    Clock::time_point now) {
  if (!on()) return nullptr;
  const size_t hash = request.HashOfName();
  Kept kept;
  {
    const Lock lock(held_);
    if (!lock.held()) return nullptr;
    const Kept* const found = contents_->by_hash.Use(hash, now);
    if (found == nullptr) return nullptr;
    kept = *found;
    ++contents_->hits;
  }
  // The comparison may take long, so the lock is not held.
  return request.HasName(*kept.request) ? kept.reply : nullptr;
}

RequestName ResultCache::NameOf(const RequestMessage& request) const {
  return on() ? RequestName{request.HashOfName(), request.Name()} : RequestName{};
}

void ResultCache::Keep(RequestName request, std::shared_ptr<const BuildReply> reply,
                       Clock::time_point asked) {
  if (!on() || !reply->fields().closed) return;
  const uint64_t size = request.bytes.size() + reply->MemoryBytes() + kOverhead;
  if (size > limit_ / kMaxShare) return;
  Kept kept{std::make_shared<const std::string>(std::move(request.bytes)), std::move(reply)};
  Lru::Entries gone;  // destroyed after the lock is released
  const Lock lock(held_);
  if (!lock.held()) return;
  // If another request with the same hash is in the cache, Insert replaces it. That hardly ever
  // happens.
  gone = contents_->by_hash.Insert({}, request.hash, std::move(kept), size, asked);
}

ResultCache::Statistics ResultCache::statistics() const {
  const Lock lock(held_);
  if (!lock.held()) return {};
  return {contents_->hits, contents_->by_hash.size(), contents_->by_hash.bytes()};
}

}  // namespace cccl_cache
