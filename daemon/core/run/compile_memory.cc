// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/compile_memory.h"

#include <algorithm>
#include <bit>
#include <limits>
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

CompileMemory::CompileMemory(uint64_t limit, Statistics& statistics,
                             std::function<void()> make_room)
    : limit_(limit),
      statistics_(statistics),
      make_room_(std::move(make_room)),
      reserve_{limit / 4},
      shared_{limit == 0 ? std::numeric_limits<uint64_t>::max() : limit - limit / 4} {}

std::optional<CompileMemory::Running> CompileMemory::Start(const Kind& kind, std::stop_token stop,
                                                           Urgency urgency) {
  MutexLock lock(mutex_);
  Waiter waiter{.account = kind.account,
                .urgency = urgency,
                .bytes = std::min(ExpectedOf(kind), shared_.bytes),
                .known = needed_.Find(kind.kind) != nullptr};
  const auto place = waiters_.insert(waiters_.end(), &waiter);
  Admit();
  if (!waiter.taken) {
    statistics_.Add(Counter::kMemoryWaits);
    if (urgency == Urgency::kCaller && make_room_) {
      lock.Unlock();
      make_room_();
      lock.Lock();
    }
    changed_.Wait(mutex_, std::move(stop), [&waiter] { return waiter.taken.has_value(); });
  }
  if (!waiter.taken) {
    waiters_.erase(place);
    Admit();  // those that waited behind it
    return std::nullopt;
  }
  return std::optional<Running>(std::in_place, *this, kind, *waiter.taken);
}

uint64_t CompileMemory::Expected(const Kind& kind) const {
  const MutexLock lock(mutex_);
  return ExpectedOf(kind);
}

MemoryActivity CompileMemory::activity() const {
  const MutexLock lock(mutex_);
  return {.expected_bytes = shared_.taken + reserve_.taken,
          .limit_bytes = limit_,
          .waiting = waiters_.size()};
}

bool CompileMemory::callers_wait() const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(
      waiters_, [](const Waiter* waiter) { return waiter->urgency == Urgency::kCaller; });
}

uint64_t CompileMemory::ExpectedOf(const Kind& kind) const {
  for (const Digest& digest : {kind.kind, kind.any_like}) {
    if (const auto* known = needed_.Find(digest)) return known->value;
  }
  return kUnknownBytes;
}

std::optional<uint64_t> CompileMemory::OfReserve(const Waiter& waiter) const {
  if (waiter.urgency != Urgency::kCaller) return std::nullopt;
  const uint64_t free = reserve_.free();
  if (ComesFirst(waiter)) {
    // Most kinds need little, and only a compile tells.
    const uint64_t bytes = waiter.known ? waiter.bytes : std::min(waiter.bytes, reserve_.bytes / 2);
    return bytes <= free ? std::optional(bytes) : std::nullopt;
  }
  if (waiter.bytes > free) return std::nullopt;
  const uint64_t used = used_by_.at(waiter.account).bytes + waiter.bytes;
  const bool little = used <= free - waiter.bytes;
  return little || waiter.account.privileged() ? std::optional(waiter.bytes) : std::nullopt;
}

CompileMemory::Waiters::iterator CompileMemory::Next() {
  std::vector<Waiter*> passed;
  bool shared_is_open = true;
  for (const bool first : {true, false}) {
    for (auto next = waiters_.begin(); next != waiters_.end(); ++next) {
      Waiter& waiter = **next;
      if (ComesFirst(waiter) != first) continue;
      if (shared_is_open && waiter.bytes <= shared_.free()) {
        for (Waiter* const each : passed) ++each->passed_by;
        waiter.taken = {&shared_, waiter.bytes, waiter.urgency};
        return next;
      }
      if (const auto bytes = OfReserve(waiter)) {
        waiter.taken = {&reserve_, *bytes, waiter.urgency};
        return next;
      }
      passed.push_back(&waiter);
      if (waiter.passed_by >= kMaxPassedBy) shared_is_open = false;
    }
  }
  return waiters_.end();
}

void CompileMemory::Admit() {
  for (auto next = Next(); next != waiters_.end(); next = Next()) {
    const Waiter& waiter = **next;
    waiters_.erase(next);
    waiter.taken->of->taken += waiter.taken->bytes;
    if (waiter.urgency != Urgency::kCaller) continue;
    Use& use = used_by_[waiter.account];
    ++use.compiles;
    use.bytes += waiter.taken->bytes;
  }
  changed_.NotifyAll();
}

void CompileMemory::End(const Running& running) {
  const MutexLock lock(mutex_);
  Learn(running.kind_.account, running.kind_.kind, running);
  Learn(running.kind_.account, running.kind_.any_like, running);
  const Taken& taken = running.taken_;
  taken.of->taken -= taken.bytes;
  if (taken.urgency == Urgency::kCaller) {
    const auto use = used_by_.find(running.kind_.account);
    use->second.bytes -= taken.bytes;
    if (--use->second.compiles == 0) used_by_.erase(use);
  }
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
