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

CompileMemory::CompileMemory(uint64_t limit, Statistics& statistics, std::function<void()> freed)
    : limit_(limit),
      statistics_(statistics),
      freed_(std::move(freed)),
      reserve_{limit / 4},
      shared_{limit == 0 ? std::numeric_limits<uint64_t>::max() : limit - limit / 4} {}

CompileMemory::RunningPtr CompileMemory::TryStart(const Kind& kind, bool may_share) {
  const MutexLock lock(mutex_);
  const uint64_t bytes = std::min(ExpectedOf(kind), shared_.bytes);
  std::optional<Taken> taken;
  if (may_share && bytes <= shared_.free()) {
    taken = Taken{&shared_, bytes, kind.account};
  } else {
    taken = OfReserve(kind, bytes);
  }
  if (!taken) return nullptr;
  taken->of->taken += taken->bytes;
  Use& use = used_by_[kind.account];
  ++use.compiles;
  use.bytes += taken->bytes;
  return std::make_unique<Running>(*this, kind, *taken);
}

CompileMemory::RunningPtr CompileMemory::StartIdle(const Kind& kind, std::stop_token stop) {
  const MutexLock lock(mutex_);
  const uint64_t bytes = std::min(ExpectedOf(kind), shared_.bytes);
  const auto fits = [this, bytes]()
                        REQUIRES(mutex_) { return items_waiting_ == 0 && bytes <= shared_.free(); };
  if (!fits()) {
    statistics_.Add(Counter::kMemoryWaits);
    ++idle_waiting_;
    const bool may_start = changed_.Wait(mutex_, std::move(stop), fits);
    --idle_waiting_;
    if (!may_start) return nullptr;
  }
  shared_.taken += bytes;
  return std::make_unique<Running>(*this, kind, Taken{&shared_, bytes, std::nullopt});
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
  return {.expected_bytes = shared_.taken + reserve_.taken,
          .limit_bytes = limit_,
          .waiting = items_waiting_ + idle_waiting_};
}

bool CompileMemory::items_wait() const {
  const MutexLock lock(mutex_);
  return items_waiting_ > 0;
}

uint64_t CompileMemory::ExpectedOf(const Kind& kind) const {
  for (const Digest& digest : {kind.kind, kind.any_like}) {
    if (const auto* known = needed_.Find(digest)) return known->value;
  }
  return kUnknownBytes;
}

std::optional<CompileMemory::Taken> CompileMemory::OfReserve(const Kind& kind, uint64_t bytes) {
  const Account account = kind.account;
  const auto found = used_by_.find(account);
  const Use use = found == used_by_.end() ? Use() : found->second;
  const uint64_t free = reserve_.free();
  const bool ordinary = bytes <= kUnknownBytes || needed_.Find(kind.kind) == nullptr;
  if (use.compiles == 0 && ordinary) {
    return Taken{&reserve_, std::min(bytes, free / 2), account};
  }
  if (bytes > free) return std::nullopt;
  const bool little = use.bytes + bytes <= free - bytes;
  if (!little && !account.privileged()) return std::nullopt;
  return Taken{&reserve_, bytes, account};
}

void CompileMemory::End(const Running& running) {
  {
    const MutexLock lock(mutex_);
    Learn(running.kind_.account, running.kind_.kind, running);
    Learn(running.kind_.account, running.kind_.any_like, running);
    const Taken& taken = running.taken_;
    taken.of->taken -= taken.bytes;
    if (taken.account) {
      const auto use = used_by_.find(*taken.account);
      use->second.bytes -= taken.bytes;
      if (--use->second.compiles == 0) used_by_.erase(use);
    }
    changed_.NotifyAll();
  }
  if (!running.taken_.account && freed_) freed_();
}

void CompileMemory::Learn(Account account, const Digest& kind, const Running& running) {
  constexpr uint64_t kWeight = 16;  // weight of the old estimate against a smaller new peak
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
