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

/// Calls `add` with the rest of each line that is an #include. It only groups similar programs, so
/// comments do not matter.
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
                                                           Urgency urgency,
                                                           const Callers& callers) {
  MutexLock lock(mutex_);
  // Under the lock, so that AddCaller finds the waiter, or its account is among these.
  std::vector<Account> accounts = callers.accounts ? callers.accounts() : std::vector<Account>();
  if (accounts.empty()) accounts.push_back(kind.account);
  Waiter waiter{
      .flight = callers.flight,
      .accounts = std::move(accounts),
      .urgency = urgency,
      .bytes = std::min(ExpectedOf(kind), shared_.bytes),
      .known_to = needed_.Find(kind.kind) == nullptr ? std::nullopt : std::optional(kind.account)};
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
    Admit();  // waiters behind this one
    return std::nullopt;
  }
  return std::optional<Running>(std::in_place, *this, kind, *waiter.taken);
}

void CompileMemory::AddCaller(uint64_t flight, Account account) {
  const MutexLock lock(mutex_);
  for (Waiter* const waiter : waiters_) {
    std::vector<Account>& accounts = waiter->accounts;
    const bool new_here = std::ranges::find(accounts, account) == accounts.end();
    if (waiter->flight == flight && new_here) accounts.push_back(account);
  }
  Admit();
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

CompileMemory::Use CompileMemory::UseOf(Account account) const {
  const auto use = used_by_.find(account);
  return use == used_by_.end() ? Use() : use->second;
}

Account CompileMemory::BestOf(const Waiter& waiter) const {
  return *std::ranges::min_element(waiter.accounts, {}, [this](Account account) REQUIRES(mutex_) {
    return UseOf(account).compiles;
  });
}

CompileMemory::Rank CompileMemory::RankOf(const Waiter& waiter) const {
  if (waiter.urgency == Urgency::kIdle) return Rank::kIdle;
  if (waiter.passed_by >= kMaxPassedByAny) return Rank::kOverdue;
  return UseOf(BestOf(waiter)).compiles == 0 ? Rank::kNewcomer : Rank::kCaller;
}

std::optional<CompileMemory::Taken> CompileMemory::OfShared(const Waiter& waiter) {
  if (waiter.bytes > shared_.free()) return std::nullopt;
  Taken taken{.of = &shared_, .bytes = waiter.bytes};
  if (waiter.urgency == Urgency::kCaller) taken.account = BestOf(waiter);
  return taken;
}

std::optional<CompileMemory::Taken> CompileMemory::OfReserve(const Waiter& waiter) {
  if (waiter.urgency == Urgency::kIdle) return std::nullopt;
  const Account account = BestOf(waiter);
  const Use use = UseOf(account);
  const uint64_t free = reserve_.free();
  // An estimate from another account does not count.
  const bool ordinary = waiter.known_to != account || waiter.bytes <= kUnknownBytes;
  if (use.compiles == 0 && ordinary) {
    return Taken{&reserve_, std::min(waiter.bytes, free / 2), account};
  }
  if (waiter.bytes > free) return std::nullopt;
  const bool little = use.bytes + waiter.bytes <= free - waiter.bytes;
  if (!little && !account.privileged()) return std::nullopt;
  return Taken{&reserve_, waiter.bytes, account};
}

CompileMemory::Waiters::iterator CompileMemory::Next() {
  struct Place {
    Rank rank;
    size_t age;  ///< of all waiters; the oldest has 0
    Waiters::iterator waiter;
  };
  std::vector<Place> places;
  for (auto each = waiters_.begin(); each != waiters_.end(); ++each) {
    places.push_back({RankOf(**each), places.size(), each});
  }
  std::ranges::stable_sort(places, {}, &Place::rank);
  bool shared_is_open = true;
  for (auto next = places.begin(); next != places.end(); ++next) {
    Waiter& waiter = **next->waiter;
    if (shared_is_open) waiter.taken = OfShared(waiter);
    if (waiter.taken) {
      for (auto other = places.begin(); other != places.end(); ++other) {
        if (other < next || other->age < next->age) ++(*other->waiter)->passed_by;
      }
      return next->waiter;
    }
    waiter.taken = OfReserve(waiter);
    if (waiter.taken) return next->waiter;
    const bool waits_long = waiter.passed_by >= kMaxPassedBy;
    if (waits_long && waiter.urgency == Urgency::kCaller) shared_is_open = false;
  }
  return waiters_.end();
}

void CompileMemory::Admit() {
  for (auto next = Next(); next != waiters_.end(); next = Next()) {
    const Taken& taken = *(*next)->taken;
    waiters_.erase(next);
    taken.of->taken += taken.bytes;
    if (!taken.account) continue;
    Use& use = used_by_[*taken.account];
    ++use.compiles;
    use.bytes += taken.bytes;
  }
  changed_.NotifyAll();
}

void CompileMemory::PutLast(Account account) {
  Waiters last;
  for (auto each = waiters_.begin(); each != waiters_.end();) {
    const auto waiter = each++;
    const bool others =
        std::ranges::any_of((*waiter)->accounts, [&](Account caller) { return caller != account; });
    if (!others) last.splice(last.end(), waiters_, waiter);
  }
  waiters_.splice(waiters_.end(), last);
}

void CompileMemory::End(const Running& running) {
  const MutexLock lock(mutex_);
  Learn(running.kind_.account, running.kind_.kind, running);
  Learn(running.kind_.account, running.kind_.any_like, running);
  const Taken& taken = running.taken_;
  taken.of->taken -= taken.bytes;
  if (taken.account) {
    const auto use = used_by_.find(*taken.account);
    use->second.bytes -= taken.bytes;
    if (--use->second.compiles == 0) {
      used_by_.erase(use);
      PutLast(*taken.account);
    }
  }
  Admit();
}

void CompileMemory::Learn(Account account, const Digest& kind, const Running& running) {
  constexpr uint64_t kWeight = 16;  // of the remembered peak against a smaller one
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
