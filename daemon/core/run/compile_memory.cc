// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/compile_memory.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

#include "proto/request.h"

namespace cccl_cache::daemon {
namespace {

/// Calls `add` with the text of each #include line from the word "include" on. Comments are not
/// skipped: the lines only group similar programs, so a wrong line does no harm.
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

/// Number of runs of a tool that may start before one of them has shown the memory that it needs.
constexpr uint64_t kFirstRuns = 8;

uint64_t SharedPartOf(uint64_t limit) {
  return limit == 0 ? std::numeric_limits<uint64_t>::max() : limit - limit / 4;
}

/// Returns 0 for all sizes below 64 KiB, and one more for each doubling.
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

CompileMemory::Kind CompileMemory::KindOf(Account account, std::string_view kind,
                                          std::string_view any_like) {
  Hasher hasher;
  hasher.AppendValue("account", account.Label());
  hasher.AppendValue("tool", any_like);
  const Digest of_tool = hasher.Finish();
  hasher.AppendValue("of tool", of_tool.View());
  hasher.AppendValue("kind", kind);
  return {account, hasher.Finish(), of_tool};
}

CompileMemory::CompileMemory(const Limits& limits, Statistics& statistics,
                             std::function<void()> freed)
    : limits_(limits),
      statistics_(statistics),
      freed_(std::move(freed)),
      reserve_{limits.compiles / 4},
      shared_{SharedPartOf(limits.compiles)},
      reservable_{SharedPartOf(limits.with_reservations)} {}

CompileMemory::RunningPtr CompileMemory::TryStart(const Kind& kind, bool may_share, Use use) {
  const MutexLock lock(mutex_);
  const uint64_t bytes = use == Use::kReservation ? std::min(ReservedFor(kind), reservable_.bytes)
                                                  : std::min(ExpectedOf(kind), shared_.bytes);
  auto taken = may_share ? OfShared(kind, bytes, use) : std::nullopt;
  if (!taken) taken = OfReserve(kind, bytes, use);
  if (!taken) return nullptr;
  Take(*taken);
  Used& used = used_by_[kind.account];
  ++used.runs;
  used.bytes += taken->bytes;
  return std::make_unique<Running>(*this, kind, *taken);
}

std::optional<CompileMemory::Taken> CompileMemory::OfShared(const Kind& kind, uint64_t bytes,
                                                            Use use) {
  if (bytes > reservable_.free()) return std::nullopt;
  if (use == Use::kReservation) return Taken{&reservable_, bytes, kind.account, use};
  if (bytes > shared_.free()) return std::nullopt;
  return Taken{&shared_, bytes, kind.account, use};
}

void CompileMemory::Take(const Taken& taken) {
  taken.of->taken += taken.bytes;
  if (taken.of == &shared_) reservable_.taken += taken.bytes;
  if (taken.use == Use::kReservation) ++reservations_;
}

uint64_t CompileMemory::ReservedFor(const Kind& kind) const {
  if (const auto known = KnownOf(kind)) return *known;
  // No run of this tool has ended yet, and a build system starts many at once.
  const uint64_t of_all = limits_.with_reservations == 0 ? 0 : reservable_.bytes / kFirstRuns;
  return std::max(kUnknownBytes, of_all);
}

void CompileMemory::NotePeak(const Kind& kind, uint64_t peak_bytes) {
  const MutexLock lock(mutex_);
  Learn(kind.account, kind.kind, peak_bytes, true);
  Learn(kind.account, kind.any_like, peak_bytes, true);
}

CompileMemory::RunningPtr CompileMemory::StartIdle(const Kind& kind, std::stop_token stop) {
  const MutexLock lock(mutex_);
  const uint64_t bytes = std::min(ExpectedOf(kind), shared_.bytes);
  const auto fits = [this, bytes]() REQUIRES(mutex_) {
    return items_waiting_ == 0 && bytes <= std::min(shared_.free(), reservable_.free());
  };
  if (!fits()) {
    statistics_.Add(Counter::kMemoryWaits);
    ++idle_waiting_;
    const bool may_start = changed_.Wait(mutex_, std::move(stop), fits);
    --idle_waiting_;
    if (!may_start) return nullptr;
  }
  const Taken taken{&shared_, bytes, std::nullopt};
  Take(taken);
  return std::make_unique<Running>(*this, kind, taken);
}

void CompileMemory::BeginWait() {
  const MutexLock lock(mutex_);
  ++items_waiting_;
  statistics_.Add(Counter::kMemoryWaits);
}

void CompileMemory::EndWait() {
  const MutexLock lock(mutex_);
  if (--items_waiting_ == 0) changed_.NotifyAll();
}

uint64_t CompileMemory::Expected(const Kind& kind) const {
  const MutexLock lock(mutex_);
  return ExpectedOf(kind);
}

MemoryActivity CompileMemory::activity() const {
  const MutexLock lock(mutex_);
  return {.expected_bytes = reservable_.taken + reserve_.taken,
          .limit_bytes = limits_.with_reservations,
          .waiting = items_waiting_ + idle_waiting_,
          .reservations = reservations_};
}

bool CompileMemory::items_wait() const {
  const MutexLock lock(mutex_);
  return items_waiting_ > 0;
}

std::optional<uint64_t> CompileMemory::KnownOf(const Kind& kind) const {
  for (const Digest& digest : {kind.kind, kind.any_like}) {
    if (const auto* known = needed_.Find(digest)) return known->value;
  }
  return std::nullopt;
}

std::optional<CompileMemory::Taken> CompileMemory::OfReserve(const Kind& kind, uint64_t bytes,
                                                             Use use) {
  const Account account = kind.account;
  const auto found = used_by_.find(account);
  const Used used = found == used_by_.end() ? Used() : found->second;
  const uint64_t free = reserve_.free();
  const bool ordinary = bytes <= kUnknownBytes || needed_.Find(kind.kind) == nullptr;
  if (used.runs == 0 && ordinary) {
    return Taken{&reserve_, std::min(bytes, free / 2), account, use};
  }
  if (bytes > free) return std::nullopt;
  const bool little = used.bytes + bytes <= free - bytes;
  if (!little && !account.privileged()) return std::nullopt;
  return Taken{&reserve_, bytes, account, use};
}

void CompileMemory::End(const Running& running) {
  {
    const MutexLock lock(mutex_);
    Learn(running.kind_.account, running.kind_.kind, running.peak_bytes, running.ended);
    Learn(running.kind_.account, running.kind_.any_like, running.peak_bytes, running.ended);
    const Taken& taken = running.taken_;
    taken.of->taken -= taken.bytes;
    if (taken.of == &shared_) reservable_.taken -= taken.bytes;
    if (taken.use == Use::kReservation) --reservations_;
    if (taken.account) {
      const auto used = used_by_.find(*taken.account);
      used->second.bytes -= taken.bytes;
      if (--used->second.runs == 0) used_by_.erase(used);
    }
    changed_.NotifyAll();
  }
  if (!running.taken_.account && freed_) freed_();
}

void CompileMemory::Learn(Account account, const Digest& kind, uint64_t peak, bool ended) {
  constexpr uint64_t kWeight = 16;  // weight of the old estimate against a smaller new peak
  if (uint64_t* const known = needed_.Use(kind)) {
    if (peak > *known) {
      *known = peak;
    } else if (ended) {
      *known -= (*known - peak) / kWeight;
    }
  } else if (ended || peak > kUnknownBytes) {
    static_cast<void>(needed_.Insert(account, kind, peak, 0));
  }
}

}  // namespace cccl_cache::daemon
