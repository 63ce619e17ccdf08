// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/write_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kItemOverhead = 128;
constexpr uint64_t kBatchBytes = 8u << 20;
constexpr size_t kBatchArtifacts = 256;
constexpr size_t kMaxDroppedKeys = 4096;

uint64_t Cost(const ArtifactPtr& artifact) { return artifact->Footprint() + kItemOverhead; }

uint64_t Cost(std::string_view name, std::string_view value) {
  return name.size() + value.size() + kItemOverhead;
}

uint64_t Cost(const WriteQueue::DepositChange& change) {
  const uint64_t contents = change.contents == nullptr ? 0 : change.contents->size();
  return change.record.size() + contents + kItemOverhead;
}

}  // namespace

bool WriteQueue::Reserve(uint64_t bytes, uint64_t freed) {
  const uint64_t others = waiting_.bytes + writing_.bytes - freed;
  if (bytes > limit_bytes_ || others > limit_bytes_ - bytes) return false;
  waiting_.bytes += bytes;
  waiting_.bytes -= freed;
  return true;
}

bool WriteQueue::Put(const Digest& key, ArtifactPtr artifact) {
  assert(artifact);
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.artifacts.find(key);
    const bool known = found != waiting_.artifacts.end();
    if (!Reserve(Cost(artifact), known ? Cost(found->second) : 0)) return false;
    if (!known) in_order_.push_back(key);
    waiting_.artifacts.insert_or_assign(key, std::move(artifact));
  }
  changed_.NotifyAll();
  return true;
}

bool WriteQueue::PutMeta(std::string_view name, std::string_view value) {
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.meta.find(name);
    const bool known = found != waiting_.meta.end();
    if (!Reserve(Cost(name, value), known ? Cost(name, found->second) : 0)) return false;
    waiting_.meta.insert_or_assign(std::string(name), std::string(value));
  }
  changed_.NotifyAll();
  return true;
}

bool WriteQueue::Drop(const Digest& key) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = waiting_.artifacts.find(key); found != waiting_.artifacts.end()) {
      waiting_.bytes -= Cost(found->second);
      waiting_.artifacts.erase(found);
      std::erase(in_order_, key);
    }
    const bool going = writing_.dropped.contains(key) && !writing_.artifacts.contains(key);
    if (going || waiting_.dropped.contains(key)) return false;
    // If too many deletions wait, this one is ignored. The next use of the entry finds it broken
    // again.
    if (waiting_.dropped.size() < kMaxDroppedKeys) waiting_.dropped.insert(key);
  }
  changed_.NotifyAll();
  return true;
}

bool WriteQueue::Drops(const Digest& key) const {
  const MutexLock lock(mutex_);
  if (waiting_.artifacts.contains(key)) return false;
  if (waiting_.dropped.contains(key)) return true;
  return writing_.dropped.contains(key) && !writing_.artifacts.contains(key);
}

bool WriteQueue::AwaitDropped(std::span<const Digest> keys, std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  const auto done = [&]() REQUIRES(mutex_) {
    return std::ranges::none_of(keys, [&](const Digest& key) REQUIRES(mutex_) {
      return waiting_.dropped.contains(key) || writing_.dropped.contains(key);
    });
  };
  changed_.WaitFor(mutex_, timeout, [&]() REQUIRES(mutex_) { return closed_ || done(); });
  return done();
}

bool WriteQueue::PutDeposit(const Digest& key, DepositChange change) {
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.deposits.find(key);
    const bool known = found != waiting_.deposits.end();
    if (known && change.contents == nullptr) {
      if (found->second.record.empty()) return true;
      change.contents = found->second.contents;
    }
    if (!Reserve(Cost(change), known ? Cost(found->second) : 0)) return false;
    waiting_.deposits.insert_or_assign(key, std::move(change));
  }
  changed_.NotifyAll();
  return true;
}

void WriteQueue::DropDeposit(const Digest& key) {
  {
    const MutexLock lock(mutex_);
    const auto found = waiting_.deposits.find(key);
    if (found != waiting_.deposits.end()) waiting_.bytes -= Cost(found->second);
    // A deletion is queued even if the queue is full. The excess is limited: only stored deposits
    // are deleted, and each of them once had room in the queue.
    waiting_.bytes += Cost(DepositChange{});
    waiting_.deposits.insert_or_assign(key, DepositChange{});
  }
  changed_.NotifyAll();
}

ArtifactPtr WriteQueue::Find(const Digest& key) const {
  const MutexLock lock(mutex_);
  for (const Batch* batch : {&waiting_, &writing_}) {
    if (const auto found = batch->artifacts.find(key); found != batch->artifacts.end()) {
      return found->second;
    }
    if (batch->dropped.contains(key)) return nullptr;
  }
  return nullptr;
}

std::vector<Digest> WriteQueue::ArtifactKeys() const {
  std::vector<Digest> keys;
  const MutexLock lock(mutex_);
  for (const Batch* batch : {&waiting_, &writing_}) {
    for (const auto& [key, artifact] : batch->artifacts) keys.push_back(key);
  }
  return keys;
}

std::optional<std::string> WriteQueue::FindMeta(std::string_view name) const {
  const MutexLock lock(mutex_);
  for (const Batch* batch : {&waiting_, &writing_}) {
    if (const auto found = batch->meta.find(name); found != batch->meta.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<DepositContents> WriteQueue::FindDeposit(const Digest& key) const {
  const MutexLock lock(mutex_);
  for (const Batch* batch : {&waiting_, &writing_}) {
    const auto found = batch->deposits.find(key);
    if (found == batch->deposits.end()) continue;
    const DepositChange& change = found->second;
    if (change.record.empty() || change.contents != nullptr) return change.contents;
  }
  return std::nullopt;
}

const WriteQueue::Batch& WriteQueue::Next(std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  if (!writing_.empty()) return writing_;
  changed_.WaitFor(mutex_, timeout,
                   [this]() REQUIRES(mutex_) { return !waiting_.empty() || closed_; });
  FillBatch();
  return writing_;
}

void WriteQueue::FillBatch() {
  writing_.dropped = std::exchange(waiting_.dropped, {});
  writing_.meta = std::exchange(waiting_.meta, {});
  for (const auto& [name, value] : writing_.meta) writing_.bytes += Cost(name, value);
  while (!in_order_.empty() && writing_.artifacts.size() < kBatchArtifacts) {
    const auto next = waiting_.artifacts.find(in_order_.front());
    const uint64_t bytes = Cost(next->second);
    if (!writing_.artifacts.empty() && writing_.bytes + bytes > kBatchBytes) break;
    writing_.bytes += bytes;
    writing_.artifacts.insert(waiting_.artifacts.extract(next));
    in_order_.pop_front();
  }
  FillDeposits();
  waiting_.bytes -= writing_.bytes;
}

void WriteQueue::FillDeposits() {
  while (!waiting_.deposits.empty()) {
    const auto next = waiting_.deposits.begin();
    const uint64_t bytes = Cost(next->second);
    if (!writing_.deposits.empty() && writing_.bytes + bytes > kBatchBytes) break;
    writing_.bytes += bytes;
    writing_.deposits.insert(waiting_.deposits.extract(next));
  }
}

void WriteQueue::Written() {
  Batch written;  // freed after the unlock
  {
    const MutexLock lock(mutex_);
    written = std::exchange(writing_, {});
  }
  changed_.NotifyAll();
}

void WriteQueue::AwaitRoom(std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, timeout, [this]() REQUIRES(mutex_) {
    return closed_ || waiting_.bytes + writing_.bytes <= limit_bytes_ / 2;
  });
}

void WriteQueue::Pause(std::chrono::milliseconds duration) {
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, duration, [this]() REQUIRES(mutex_) { return closed_; });
}

void WriteQueue::Close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.NotifyAll();
}

bool WriteQueue::empty() const {
  const MutexLock lock(mutex_);
  return waiting_.empty() && writing_.empty();
}

bool WriteQueue::closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

}  // namespace cccl_cache::daemon
