// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/preamble_pool.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kLookWhetherIdle{100};
constexpr size_t kMaxFailures = 1024;

CompileLimits Within(CompileLimits limits, std::chrono::milliseconds time) {
  limits.time = std::min(limits.time, time);
  return limits;
}

}  // namespace

PreamblePool::PreamblePool(Compiler& compiler, Statistics& statistics, const CompileLimits& limits,
                           const Bounds& bounds, std::function<bool()> idle, CompileMemory* memory)
    : compiler_(compiler),
      statistics_(statistics),
      limits_(Within(limits, bounds.time)),
      bounds_(bounds),
      idle_(std::move(idle)),
      memory_(memory),
      wishes_({.max_bytes = bounds.wanted_bytes,
               .max_bytes_per_user = bounds.wanted_bytes_per_uid,
               .max_entries = bounds.wanted,
               .max_entries_per_user = bounds.wanted_per_uid}),
      kept_({.max_bytes = bounds.bytes, .max_entries = bounds.preambles}),
      failed_({.max_entries = kMaxFailures, .lifetime = bounds.retry}),
      thread_([this](const std::stop_token& stop) { Work(stop); }) {}

void PreamblePool::Describe(BuildActivity* activity) const {
  const MutexLock lock(mutex_);
  activity->preambles = kept_.size();
  activity->preamble_bytes = kept_.bytes();
}

void PreamblePool::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

ParsedPreamblePtr PreamblePool::Find(const Digest& key) {
  ParsedPreamblePtr parsed;
  {
    const MutexLock lock(mutex_);
    const ParsedPreamblePtr* const found = kept_.Use(key);
    if (found == nullptr) return nullptr;
    parsed = *found;
  }
  if (parsed->precompiled->usable()) return parsed;
  DropUnusable();
  return nullptr;
}

void PreamblePool::Want(const Digest& key, Account account, uint64_t bytes, MakeOrder make) {
  if (bounds_.bytes == 0) return;
  DropUnusable();
  Wishes::Entries gone;  // freed after the lock
  const MutexLock lock(mutex_);
  if (kept_.Find(key) != nullptr || parsing_ == key) return;
  if (failed_.Find(key, Clock::now()) != nullptr) return;
  const Wishes::Entry* const before = wishes_.Find(key);
  const uint64_t number = before == nullptr ? ++last_number_ : before->value.number;
  gone = wishes_.Insert(account, key, {std::move(make), before != nullptr, number}, bytes);
  changed_.NotifyAll();
}

// The caller of Remove holds the preamble too, so that it is not freed under the lock.

void PreamblePool::Drop(const Digest& key, const ParsedPreamblePtr& parsed) {
  const MutexLock lock(mutex_);
  Remove(key, parsed);
}

void PreamblePool::Blame(const Digest& key, const ParsedPreamblePtr& parsed) {
  // If the zygote is gone, that may be the cause of any failure in it.
  const bool at_fault = parsed->precompiled->usable();
  const MutexLock lock(mutex_);
  Remove(key, parsed);
  if (at_fault) NoteFailure(key);
}

void PreamblePool::Remove(const Digest& key, const ParsedPreamblePtr& parsed) {
  const Preambles::Entry* const found = kept_.Find(key);
  if (found != nullptr && found->value == parsed) static_cast<void>(kept_.Remove(key));
}

void PreamblePool::Work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      const MutexLock lock(mutex_);
      const auto wished = [this]() REQUIRES(mutex_) { return wishes_.size() > 0; };
      if (!changed_.Wait(mutex_, stop, wished)) return;
    }
    const std::optional<Wishes::Entry> wish = TakeWish();
    if (wish) {
      Keep(*wish, Parse(wish->value.make, stop));
      statistics_.Add(Counter::kPreambles);
    } else {
      const MutexLock lock(mutex_);
      changed_.WaitFor(mutex_, stop, kLookWhetherIdle, [] { return false; });
    }
  }
}

std::optional<PreamblePool::Wishes::Entry> PreamblePool::TakeWish() {
  const bool idle = idle_();
  const MutexLock lock(mutex_);
  // Urgent wishes come first, then users in turn; of one user, the oldest comes first.
  const auto rank = [last = last_served_](const Wishes::Entry& entry) {
    const Wish& wish = entry.value;
    return std::tuple(!wish.urgent, entry.user <= last, entry.user, wish.number);
  };
  const Wishes::Entry* next = nullptr;
  for (const auto& [account, share] : wishes_.users()) {
    for (const Wishes::Entry& entry : share.oldest_first) {
      if (next == nullptr || rank(entry) < rank(*next)) next = &entry;
    }
  }
  if (next == nullptr || (!next->value.urgent && !idle)) return std::nullopt;
  parsing_ = next->key;
  last_served_ = next->user;
  return std::move(wishes_.Remove(*parsing_).front());
}

std::optional<ParsedPreamblePtr> PreamblePool::Parse(const MakeOrder& make,
                                                     const std::stop_token& stop) {
  Order order = make();
  Result<std::shared_ptr<const Precompiled>> precompiled = Precompile(order.job, stop);
  ClosureRecorder::Record record = order.recorder->Finish();
  if (!precompiled && precompiled.error().code == ErrorCode::kFilesNeeded) return std::nullopt;
  if (!precompiled || !record.traits.time_token.empty()) return nullptr;
  if (record.traits.base_name_tokens || record.traits.function_tokens) return nullptr;
  if (BytesOf(record.closure) > bounds_.record_bytes) return nullptr;
  return std::make_shared<const ParsedPreamble>(
      ParsedPreamble{*std::move(precompiled), std::move(record)});
}

Result<std::shared_ptr<const Precompiled>> PreamblePool::Precompile(CompileJob& job,
                                                                    const std::stop_token& stop) {
  if (memory_ == nullptr) return compiler_.Precompile(job, limits_, stop);
  auto memory =
      memory_->Start(CompileMemory::KindOf(job, job.account), stop, CompileMemory::Urgency::kIdle);
  if (!memory) return Error{ErrorCode::kCancelled, "the daemon stops"};
  job.peak_bytes = &memory->peak_bytes;
  auto precompiled = compiler_.Precompile(job, limits_, stop);
  memory->ended = precompiled.ok();
  return precompiled;
}

void PreamblePool::Keep(const Wishes::Entry& wish, std::optional<ParsedPreamblePtr> result) {
  DropUnusable();
  Preambles::Entries gone;  // freed after the lock
  const MutexLock lock(mutex_);
  parsing_.reset();
  if (!result) return;
  const ParsedPreamblePtr& parsed = *result;
  const uint64_t bytes =
      parsed == nullptr ? 0 : parsed->precompiled->bytes() + BytesOf(parsed->record.closure);
  if (parsed == nullptr || bytes > bounds_.bytes) {
    statistics_.Add(Counter::kPreambleFailures);
    return NoteFailure(wish.key);
  }
  gone = kept_.Insert(wish.user, wish.key, parsed, bytes);
}

void PreamblePool::DropUnusable() {
  std::vector<std::pair<Digest, ParsedPreamblePtr>> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [account, share] : kept_.users()) {
      for (const Preambles::Entry& kept : share.oldest_first)
        all.emplace_back(kept.key, kept.value);
    }
  }
  std::erase_if(all, [](const auto& each) { return each.second->precompiled->usable(); });
  const MutexLock lock(mutex_);
  for (const auto& [key, parsed] : all) Remove(key, parsed);
}

void PreamblePool::NoteFailure(const Digest& key) {
  static_cast<void>(failed_.Insert({}, key, {}, 0, Clock::now()));
}

}  // namespace cccl_cache::daemon
