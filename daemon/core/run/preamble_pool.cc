// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/preamble_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/core/run/preamble.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxFailures = 1024;

CompileLimits Within(CompileLimits limits, std::chrono::milliseconds time) {
  limits.time = std::min(limits.time, time);
  return limits;
}

}  // namespace

PreamblePool::PreamblePool(Compiler& compiler, Statistics& statistics, const CompileLimits& limits,
                           const Bounds& bounds, CompileMemory* memory)
    : compiler_(compiler),
      statistics_(statistics),
      limits_(Within(limits, bounds.time)),
      bounds_(bounds),
      memory_(memory),
      missed_({.max_entries = bounds.missed, .max_entries_per_user = bounds.missed_per_uid}),
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

ParsedPreamblePtr PreamblePool::Await(const Digest& key, Clock::time_point deadline,
                                      const std::stop_token& stop) {
  {
    const MutexLock lock(mutex_);
    const auto* const missed = missed_.Find(key);
    const bool soon = parsing_ ? parsing_->key == key : wishes_.Find(key) != nullptr;
    if (missed != nullptr && soon) {
      const Clock::time_point since = parsing_ ? parsing_->since : Clock::now();
      const std::chrono::microseconds whole = missed->value;
      changed_.WaitUntil(mutex_, stop, std::min(since + whole, deadline - whole),
                         [this, &key]() REQUIRES(mutex_) { return !IsWanted(key); });
    }
  }
  return Find(key);
}

bool PreamblePool::IsWanted(const Digest& key) const {
  return wishes_.Find(key) != nullptr || (parsing_ && parsing_->key == key);
}

void PreamblePool::Want(const Digest& key, Account account, uint64_t bytes, MakeOrder make) {
  if (bounds_.bytes == 0) return;
  DropUnusable();
  Wishes::Entries gone;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  if (missed_.Find(key) == nullptr || kept_.Find(key) != nullptr || IsWanted(key)) return;
  if (failed_.Find(key, Clock::now()) != nullptr) return;
  gone = wishes_.Insert(account, key, std::move(make), bytes);
  changed_.NotifyAll();
}

void PreamblePool::NoteMiss(const Digest& key, Account account, std::chrono::microseconds time) {
  const MutexLock lock(mutex_);
  const std::chrono::microseconds* const known = missed_.Use(key);
  const auto shortest = known == nullptr ? time : std::min(*known, time);
  static_cast<void>(missed_.Insert(account, key, shortest, 0));
}

// The caller of Remove also holds the preamble, so it is not freed under the lock.

void PreamblePool::Drop(const Digest& key, const ParsedPreamblePtr& parsed) {
  const MutexLock lock(mutex_);
  Remove(key, parsed);
}

void PreamblePool::Blame(const Digest& key, const ParsedPreamblePtr& parsed) {
  // If the zygote of the preamble has ended, that can be the cause of any failure.
  const bool at_fault = parsed->precompiled->usable();
  const MutexLock lock(mutex_);
  Remove(key, parsed);
  if (at_fault) NoteFailure(key);
}

void PreamblePool::Remove(const Digest& key, const ParsedPreamblePtr& parsed) {
  const Preambles::Entry* const found = kept_.Find(key);
  if (found == nullptr || found->value != parsed) return;
  static_cast<void>(kept_.Remove(key));
  static_cast<void>(missed_.Remove(key));
}

void PreamblePool::Work(const std::stop_token& stop) {
  NameThread("preambles");
  while (const std::optional<Wishes::Entry> wish = TakeWish(stop)) {
    Keep(*wish, Parse(wish->value, stop));
    statistics_.Add(Counter::kPreambles);
  }
}

std::optional<PreamblePool::Wishes::Entry> PreamblePool::TakeWish(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  const auto wished = [this]() REQUIRES(mutex_) { return wishes_.size() > 0; };
  if (!changed_.Wait(mutex_, stop, wished) || stop.stop_requested()) return std::nullopt;
  const auto& users = wishes_.users();
  auto next = users.upper_bound(last_served_);
  if (next == users.end()) next = users.begin();
  parsing_ = Parsing{next->second.oldest_first.front().key, Clock::now()};
  last_served_ = next->first;
  return std::move(wishes_.Remove(parsing_->key).front());
}

std::optional<ParsedPreamblePtr> PreamblePool::Parse(const MakeOrder& make,
                                                     const std::stop_token& stop) {
  Order order = make();
  Result<std::shared_ptr<const Precompiled>> precompiled = Precompile(order.job, stop);
  ClosureRecorder::Record record = order.recorder->Finish();
  if (!precompiled && precompiled.error().code == ErrorCode::kFilesNeeded) return std::nullopt;
  if (!precompiled || !record.traits.time_token.empty()) return nullptr;
  if (record.traits.base_name_tokens || record.traits.function_tokens) return nullptr;
  if (order.for_any_directory && ReadsOwnDirectory(record.closure)) return nullptr;
  if (BytesOf(record.closure) > bounds_.record_bytes) return nullptr;
  return std::make_shared<const ParsedPreamble>(
      ParsedPreamble{*std::move(precompiled), std::move(record)});
}

Result<std::shared_ptr<const Precompiled>> PreamblePool::Precompile(CompileJob& job,
                                                                    const std::stop_token& stop) {
  if (memory_ == nullptr) return compiler_.Precompile(job, limits_, stop);
  const auto memory = memory_->StartIdle(CompileMemory::KindOf(job, job.account), stop);
  if (memory == nullptr) return Error{ErrorCode::kCancelled, "the daemon stops"};
  job.peak_bytes = &memory->peak_bytes;
  auto precompiled = compiler_.Precompile(job, limits_, stop);
  memory->ended = precompiled.ok();
  return precompiled;
}

void PreamblePool::Keep(const Wishes::Entry& wish, std::optional<ParsedPreamblePtr> result) {
  DropUnusable();
  Preambles::Entries gone;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  parsing_.reset();
  changed_.NotifyAll();
  if (!result) return;
  const ParsedPreamblePtr& parsed = *result;
  const uint64_t bytes =
      parsed == nullptr ? 0 : parsed->precompiled->bytes() + BytesOf(parsed->record.closure);
  if (parsed == nullptr || bytes > bounds_.bytes) {
    statistics_.Add(Counter::kPreambleFailures);
    return NoteFailure(wish.key);
  }
  gone = kept_.Insert(wish.user, wish.key, parsed, bytes);
  for (const Preambles::Entry& each : gone) static_cast<void>(missed_.Remove(each.key));
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
