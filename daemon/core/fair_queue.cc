// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/fair_queue.h"

#include <fmt/format.h>

#include <algorithm>

namespace cccl_cached {
namespace {

// A hint, not a promise: enough for a slot to become free under common loads.
constexpr std::chrono::milliseconds kRetryAfter{500};

}  // namespace

FairQueue::FairQueue(const Bounds& bounds, Run run) : bounds_(bounds), run_(std::move(run)) {
  slots_.reserve(bounds_.slots);
  for (size_t i = 0; i < bounds_.slots; ++i) {
    slots_.emplace_back([this](std::stop_token stop) { ServeSlot(stop); });
  }
}

FairQueue::~FairQueue() {
  for (std::jthread& slot : slots_) slot.request_stop();
  slots_.clear();
}

Status FairQueue::Add(uint64_t item, uid_t uid) {
  {
    std::lock_guard lock(mutex_);
    const bool known = waiting_in_.contains(item);
    if (known && waiting_in_[item].contains(uid)) return Ok{};
    const auto line = lines_.find(uid);
    if (line != lines_.end() && line->second.size() >= bounds_.per_uid) {
      if (known) return Ok{};
      return Error{ErrorCode::kOverloaded,
                   fmt::format("{} builds of uid {} wait already; come back later, or raise "
                               "queue_limit_per_uid in the daemon's configuration",
                               bounds_.per_uid, uid),
                   kRetryAfter};
    }
    if (!known && waiting_in_.size() >= bounds_.total) {
      return Error{
          ErrorCode::kOverloaded,
          fmt::format("{} builds wait already; come back later, or raise queue_limit in the "
                      "daemon's configuration",
                      bounds_.total),
          kRetryAfter};
    }
    if (line == lines_.end()) rotation_.push_back(uid);
    lines_[uid].push_back(item);
    waiting_in_[item].insert(uid);
  }
  not_empty_.notify_one();
  return Ok{};
}

void FairQueue::RemoveFromLine(uint64_t item, uid_t uid) {
  const auto line = lines_.find(uid);
  if (line == lines_.end()) return;
  std::erase(line->second, item);
  if (!line->second.empty()) return;
  lines_.erase(line);
  rotation_.remove(uid);
}

bool FairQueue::Remove(uint64_t item) {
  std::lock_guard lock(mutex_);
  const auto found = waiting_in_.find(item);
  if (found == waiting_in_.end()) return false;
  for (uid_t uid : found->second) RemoveFromLine(item, uid);
  waiting_in_.erase(found);
  return true;
}

size_t FairQueue::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_in_.size();
}

size_t FairQueue::running() const {
  std::lock_guard lock(mutex_);
  return running_;
}

uint64_t FairQueue::TakeNext() {
  const uid_t uid = rotation_.front();
  rotation_.splice(rotation_.end(), rotation_, rotation_.begin());
  const uint64_t item = lines_[uid].front();
  const auto found = waiting_in_.find(item);
  for (uid_t other : found->second) RemoveFromLine(item, other);
  waiting_in_.erase(found);
  return item;
}

void FairQueue::ServeSlot(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (not_empty_.wait(lock, stop, [this] { return !waiting_in_.empty(); })) {
    if (stop.stop_requested()) return;
    const uint64_t item = TakeNext();
    ++running_;
    lock.unlock();
    run_(item);
    lock.lock();
    --running_;
  }
}

}  // namespace cccl_cached
