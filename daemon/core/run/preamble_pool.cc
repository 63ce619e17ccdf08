// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/preamble_pool.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};
constexpr size_t kMaxFailures = 1024;

CompileLimits Within(CompileLimits limits, std::chrono::milliseconds time) {
  limits.time = std::min(limits.time, time);
  return limits;
}

template <typename Entries, typename Weight>
uint64_t SumOf(const Entries& entries, const Weight& weight) {
  uint64_t sum = 0;
  for (const auto& [key, entry] : entries) sum += weight(entry);
  return sum;
}

/// Returns, of the user whose weights sum to most, the entry of least `age`.
template <typename Entries, typename Weight, typename Age>
auto OldestOfHeaviest(Entries& entries, const Weight& weight, const Age& age) {
  std::map<Account, uint64_t> sums;
  for (const auto& [key, entry] : entries) sums[entry.account] += weight(entry);
  const auto heaviest =
      std::ranges::max_element(sums, {}, [](const auto& sum) { return sum.second; });
  return std::ranges::min_element(entries, {}, [&](const auto& entry) {
    return std::pair(entry.second.account != heaviest->first, age(entry.second));
  });
}

}  // namespace

PreamblePool::PreamblePool(Compiler& compiler, Statistics& statistics, const CompileLimits& limits,
                           const Bounds& bounds, std::function<bool()> idle)
    : compiler_(compiler),
      statistics_(statistics),
      limits_(Within(limits, bounds.time)),
      bounds_(bounds),
      idle_(std::move(idle)),
      thread_([this](const std::stop_token& stop) { Work(stop); }) {}

void PreamblePool::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

// All methods declare what they drop before the lock, so that memory is freed without it.

ParsedPreamblePtr PreamblePool::Find(const Digest& key) {
  ParsedPreamblePtr parsed;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(key);
    if (found == kept_.end()) return nullptr;
    found->second.last_use = ++uses_;
    parsed = found->second.parsed;
  }
  if (parsed->precompiled->usable()) return parsed;
  DropUnusable();
  return nullptr;
}

void PreamblePool::Want(const Digest& key, Account account, uint64_t bytes, MakeOrder make) {
  if (bounds_.bytes == 0 || bytes > bounds_.wanted_bytes_per_uid) return;
  DropUnusable();
  GivenUp given_up;
  const std::lock_guard lock(mutex_);
  if (kept_.contains(key) || parsing_ == key) return;
  if (const auto failed = failed_.find(key); failed != failed_.end()) {
    if (Clock::now() < failed->second) return;
    failed_.erase(failed);
  }
  const auto [wish, first] = wishes_.try_emplace(key);
  const uint64_t age = first ? ++uses_ : wish->second.age;
  given_up.push_back(std::exchange(wish->second, {std::move(make), account, bytes, !first, age}));
  GiveUpWishes(account, &given_up);
  changed_.notify_all();
}

void PreamblePool::GiveUpWishes(Account account, GivenUp* given_up) {
  const auto one = [](const Wish&) { return uint64_t{1}; };
  const auto bytes = [](const Wish& wish) { return wish.bytes; };
  const auto own = [account](const Wish& wish) {
    return uint64_t{wish.account == account ? 1u : 0u};
  };
  const auto own_bytes = [account](const Wish& wish) {
    return wish.account == account ? wish.bytes : 0;
  };
  const auto give_up_while_above = [&](uint64_t bound, const auto& count, const auto& weight) {
    while (SumOf(wishes_, count) > bound) {
      const auto oldest =
          OldestOfHeaviest(wishes_, weight, [](const Wish& wish) { return wish.age; });
      given_up->push_back(std::move(oldest->second));
      wishes_.erase(oldest);
    }
  };
  give_up_while_above(bounds_.wanted_per_uid, own, own);
  give_up_while_above(bounds_.wanted_bytes_per_uid, own_bytes, own);
  give_up_while_above(bounds_.wanted, one, one);
  give_up_while_above(bounds_.wanted_bytes, bytes, bytes);
}

void PreamblePool::Drop(const Digest& key, const ParsedPreamblePtr& parsed) {
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  Remove(key, parsed, &dropped);
}

void PreamblePool::Blame(const Digest& key, const ParsedPreamblePtr& parsed) {
  // If the zygote is gone, that may be the cause of whatever happened in it.
  const bool at_fault = parsed->precompiled->usable();
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  Remove(key, parsed, &dropped);
  if (at_fault) NoteFailure(key);
}

void PreamblePool::Remove(const Digest& key, const ParsedPreamblePtr& parsed, Dropped* dropped) {
  const auto found = kept_.find(key);
  if (found == kept_.end() || found->second.parsed != parsed) return;
  dropped->push_back(std::move(found->second.parsed));
  kept_.erase(found);
}

void PreamblePool::Work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !wishes_.empty(); })) return;
    }
    const std::optional<Taken> taken = TakeWish();
    if (taken) {
      Keep(*taken, Parse(taken->wish.make, stop));
      statistics_.Add(Counter::kPreambles);
    } else {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, kLookAgain, [] { return false; });
    }
  }
}

std::optional<PreamblePool::Taken> PreamblePool::TakeWish() {
  const bool idle = idle_();
  const std::lock_guard lock(mutex_);
  // Urgent wishes come first, then users in turn; of one user, the oldest comes first.
  const auto next = std::ranges::min_element(wishes_, {}, [this](const auto& entry) {
    const Wish& wish = entry.second;
    return std::tuple(!wish.urgent, wish.account <= last_served_, wish.account, wish.age);
  });
  if (next == wishes_.end() || (!next->second.urgent && !idle)) return std::nullopt;
  parsing_ = next->first;
  last_served_ = next->second.account;
  Taken taken{next->first, std::move(next->second)};
  wishes_.erase(next);
  return taken;
}

std::optional<ParsedPreamblePtr> PreamblePool::Parse(const MakeOrder& make,
                                                     const std::stop_token& stop) {
  const Order order = make();
  Result<std::shared_ptr<const Precompiled>> precompiled =
      compiler_.Precompile(order.job, limits_, stop);
  ClosureRecorder::Record record = order.recorder->Finish();
  if (!precompiled && precompiled.error().code == ErrorCode::kFilesNeeded) return std::nullopt;
  if (!precompiled || !record.traits.time_token.empty()) return nullptr;
  if (record.traits.base_name_tokens || record.traits.function_tokens) return nullptr;
  if (BytesOf(record.closure) > bounds_.record_bytes) return nullptr;
  return std::make_shared<const ParsedPreamble>(
      ParsedPreamble{*std::move(precompiled), std::move(record)});
}

void PreamblePool::Keep(const Taken& taken, std::optional<ParsedPreamblePtr> result) {
  DropUnusable();
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  parsing_.reset();
  if (!result) return;
  ParsedPreamblePtr parsed = *std::move(result);
  const uint64_t bytes =
      parsed == nullptr ? 0 : parsed->precompiled->bytes() + BytesOf(parsed->record.closure);
  if (parsed == nullptr || bytes > bounds_.bytes) {
    dropped.push_back(std::move(parsed));
    statistics_.Add(Counter::kPreambleFailures);
    return NoteFailure(taken.key);
  }
  kept_[taken.key] = {std::move(parsed), taken.wish.account, bytes, ++uses_};
  Shrink(&dropped);
}

void PreamblePool::DropUnusable() {
  std::vector<std::pair<Digest, ParsedPreamblePtr>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, kept] : kept_) all.emplace_back(key, kept.parsed);
  }
  std::erase_if(all, [](const auto& each) { return each.second->precompiled->usable(); });
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, parsed] : all) Remove(key, parsed, &dropped);
}

void PreamblePool::Shrink(Dropped* dropped) {
  const auto bytes_of = [](const Kept& kept) { return kept.bytes; };
  const auto one = [](const Kept&) { return uint64_t{1}; };
  const auto last_use = [](const Kept& kept) { return kept.last_use; };
  const auto drop = [&](auto entry) {
    dropped->push_back(std::move(entry->second.parsed));
    kept_.erase(entry);
  };
  while (SumOf(kept_, bytes_of) > bounds_.bytes) {
    drop(OldestOfHeaviest(kept_, bytes_of, last_use));
  }
  while (kept_.size() > bounds_.preambles) drop(OldestOfHeaviest(kept_, one, last_use));
}

void PreamblePool::NoteFailure(const Digest& key) {
  failed_[key] = Clock::now() + bounds_.retry;
  const auto until = [](const auto& entry) { return entry.second; };
  while (failed_.size() > kMaxFailures) failed_.erase(std::ranges::min_element(failed_, {}, until));
}

}  // namespace cccl_cache::daemon
