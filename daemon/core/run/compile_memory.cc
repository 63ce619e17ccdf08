// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/compile_memory.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proto/request.h"

namespace cccl_cache::daemon {
namespace {

/// Calls `add` with the rest of each line that is an #include. Comments do not matter: this says
/// only which programs are alike.
template <typename Add>
void ForEachInclude(std::string_view source, Add add) {
  constexpr std::string_view kBlanks = " \t";
  constexpr std::string_view kInclude = "include";
  for (size_t at = source.find('#'); at != source.npos; at = source.find('#', at + 1)) {
    const size_t before = source.substr(0, at).find_last_not_of(kBlanks);
    if (before != source.npos && source[before] != '\n') continue;
    std::string_view line = source.substr(at + 1);
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    if (line.starts_with(kInclude)) add(line.substr(0, line.find('\n')));
  }
}

/// Returns the same number for all sizes below 64 KiB, and one more for each doubling.
uint64_t SizeClass(uint64_t bytes) { return static_cast<uint64_t>(std::bit_width(bytes >> 16)); }

}  // namespace

CompileMemory::Kind CompileMemory::KindOf(const CompileJob& job, Account account) {
  Hasher hasher;
  hasher.AppendValue("account", account.Label());
  hasher.AppendValue("toolchain", job.toolchain->id.View());
  hasher.AppendValue("compiler", static_cast<uint64_t>(job.request->kind()));
  const Digest any_like = hasher.Finish();
  hasher.AppendValue("any like", any_like.View());
  hasher.AppendValue("size", SizeClass(cccl_cache::BytesOf(*job.request)));
  if (const auto* program = std::get_if<NvrtcProgram>(&job.request->program)) {
    ForEachInclude(program->source,
                   [&](std::string_view header) { hasher.AppendValue("include", header); });
  }
  return {account, hasher.Finish(), any_like};
}

std::optional<CompileMemory::Running> CompileMemory::Start(const Kind& kind, std::stop_token stop) {
  const MutexLock lock(mutex_);
  Waiter waiter{.account = kind.account, .bytes = ExpectedOf(kind)};
  const auto place = waiters_.insert(waiters_.end(), &waiter);
  Admit();
  if (!waiter.may_start) {
    statistics_.Add(Counter::kMemoryWaits);
    changed_.Wait(mutex_, std::move(stop), [&waiter] { return waiter.may_start; });
  }
  if (!waiter.may_start) {
    waiters_.erase(place);
    Admit();  // those that waited behind it
    return std::nullopt;
  }
  return std::optional<Running>(std::in_place, *this, kind, waiter.bytes);
}

uint64_t CompileMemory::Expected(const Kind& kind) const {
  const MutexLock lock(mutex_);
  return ExpectedOf(kind);
}

MemoryActivity CompileMemory::activity() const {
  const MutexLock lock(mutex_);
  return {.expected_bytes = expected_, .limit_bytes = limit_, .waiting = waiters_.size()};
}

uint64_t CompileMemory::ExpectedOf(const Kind& kind) const {
  for (const Digest& digest : {kind.kind, kind.any_like}) {
    if (const auto* known = needed_.Find(digest)) return known->value;
  }
  return kUnknownBytes;
}

bool CompileMemory::Fits(const Waiter& waiter) const {
  if (limit_ == 0 || running_of_.empty()) return true;
  const bool may_use_all = waiter.account.privileged() || !running_of_.contains(waiter.account);
  const uint64_t most = may_use_all ? limit_ : limit_ - limit_ / 4;
  return expected_ <= most && waiter.bytes <= most - expected_;
}

CompileMemory::Waiters::iterator CompileMemory::Next() {
  std::vector<Waiter*> passed;
  for (const bool of_idle_accounts : {true, false}) {
    for (auto next = waiters_.begin(); next != waiters_.end(); ++next) {
      Waiter& waiter = **next;
      if (running_of_.contains(waiter.account) == of_idle_accounts) continue;
      if (Fits(waiter)) {
        for (Waiter* const each : passed) ++each->passed_by;
        return next;
      }
      if (waiter.passed_by >= kMaxPassedBy) return waiters_.end();
      passed.push_back(&waiter);
    }
  }
  return waiters_.end();
}

void CompileMemory::Admit() {
  for (auto next = Next(); next != waiters_.end(); next = Next()) {
    Waiter& waiter = **next;
    waiters_.erase(next);
    waiter.may_start = true;
    expected_ += waiter.bytes;
    ++running_of_[waiter.account];
  }
  changed_.NotifyAll();
}

void CompileMemory::End(const Running& running) {
  const MutexLock lock(mutex_);
  Learn(running.kind_.account, running.kind_.kind, running);
  Learn(running.kind_.account, running.kind_.any_like, running);
  expected_ -= running.expected_;
  const auto account = running_of_.find(running.kind_.account);
  if (--account->second == 0) running_of_.erase(account);
  Admit();
}

void CompileMemory::Learn(Account account, const Digest& kind, const Running& running) {
  constexpr uint64_t kWeight = 16;  // of what is remembered, against a compile that needed less
  const uint64_t peak = running.peak_bytes;
  if (uint64_t* const known = needed_.Use(kind)) {
    if (peak > *known) {
      *known = peak;
    } else if (running.ended) {
      *known -= (*known - peak) / kWeight;
    }
  } else if (running.ended || peak > kUnknownBytes) {
    static_cast<void>(needed_.Insert(account, kind, peak, 0));
  }
}

}  // namespace cccl_cache::daemon
