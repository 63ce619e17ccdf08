// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/statistics.h"

#include <fmt/format.h>

#include <charconv>

namespace cccl_cache::daemon {
namespace {

constexpr double kPerMicrosecond = 1e-6;

// In the order in which people read them.
constexpr CounterInfo kCounters[] = {
    {Counter::kBuilds, "builds_total", "", "Builds asked for."},
    {Counter::kHitsMemory, "hits_total", "memory", "Builds answered from a tier."},
    {Counter::kHitsDisk, "hits_total", "disk", "Builds answered from a tier."},
    {Counter::kMisses, "misses_total", "", "Cacheable builds that no tier could answer."},
    {Counter::kJoins, "joins_total", "", "Builds answered by another caller's compile."},
    {Counter::kCompiles, "compiles_total", "", "Jobs run for callers."},
    {Counter::kGivenUp, "given_up_total", "",
     "Jobs ended as soon as a header named paths, to be run under the real ones."},
    {Counter::kRetries, "retries_total", "", "Jobs run again because a worker died."},
    {Counter::kPchBuilds, "pch_builds_total", "", "Jobs that used precompiled headers."},
    {Counter::kPchFailures, "pch_failures_total", "",
     "Jobs that used precompiled headers in vain and were run again without."},
    {Counter::kPreambles, "preambles_total", "", "Jobs run to precompile headers."},
    {Counter::kPreambleFailures, "preamble_failures_total", "",
     "Headers that could not be precompiled, or not be kept."},
    {Counter::kPathProofs, "path_proofs_total", "",
     "Programs compiled under two names, and found to show paths or not."},
    {Counter::kRememberedFailures, "remembered_failures_total", "",
     "Compile failures answered without trying again."},
    {Counter::kCompileFailures, "compile_failures_total", "",
     "Compiles that the compiler refused."},
    {Counter::kUncacheable, "uncacheable_total", "", "Compiles whose result was not kept."},
    {Counter::kWorkerCrashes, "worker_crashes_total", "", "Workers that died by a signal."},
    {Counter::kTimeouts, "timeouts_total", "", "Compiles ended at the build's time limit."},
    {Counter::kOutOfMemory, "out_of_memory_total", "",
     "Compiles ended at the worker's memory limit."},
    {Counter::kCancelled, "cancelled_total", "",
     "Compiles, queued or running, given up because the last waiter left."},
    {Counter::kRefused, "refused_total", "", "Requests that were refused."},
    {Counter::kCutOff, "connections_cut_off_total", "",
     "Connections ended because of what their clients sent."},
    {Counter::kCorruptEntries, "corrupt_entries_total", "",
     "Stored entries that did not verify and were dropped."},
    {Counter::kStoreErrors, "store_errors_total", "", "Writes to the database that failed."},
    {Counter::kShadowChecks, "shadow_checks_total", "", "Hits compiled again to compare."},
    {Counter::kShadowMismatches, "shadow_mismatches_total", "",
     "Hits that compiled to other bytes."},
    {Counter::kCompileMicroseconds, "compile_seconds_total", "", "Time spent in compilers.",
     kPerMicrosecond},
    {Counter::kGivenUpMicroseconds, "given_up_seconds_total", "",
     "Time spent in jobs that were given up.", kPerMicrosecond},
    {Counter::kSavedMicroseconds, "saved_seconds_total", "",
     "Compile time that hits and joins saved.", kPerMicrosecond},
    {Counter::kEvictions, "evictions_total", "", "Entries dropped to keep within the limit."},
    {Counter::kDeposits, "deposits_total", "", "Deposits that clients made."},
    {Counter::kDepositHits, "deposit_hits_total", "", "Acquires answered with a deposit at once."},
    {Counter::kDepositWaits, "deposit_waits_total", "",
     "Acquires answered with what another caller made meanwhile."},
    {Counter::kDepositEvictions, "deposit_evictions_total", "",
     "Deposits dropped to keep within a limit."},
    {Counter::kLeases, "leases_total", "", "Acquires answered with a lease."},
    {Counter::kLeasesLost, "leases_lost_total", "",
     "Leases taken from holders that gave no sign of life."},
};
static_assert(std::size(kCounters) == static_cast<size_t>(Counter::kCount));

}  // namespace

std::span<const CounterInfo> Counters() { return kCounters; }

std::string Statistics::Serialize() const {
  std::string text;
  for (const CounterInfo& info : kCounters) {
    text += fmt::format("{}{{{}}} {}\n", info.name, info.label, Get(info.counter));
  }
  return text;
}

void Statistics::Restore(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    for (const CounterInfo& info : kCounters) {
      const std::string prefix = fmt::format("{}{{{}}} ", info.name, info.label);
      if (!line.starts_with(prefix)) continue;
      uint64_t count = 0;
      const char* end = line.data() + line.size();
      const auto parsed = std::from_chars(line.data() + prefix.size(), end, count);
      if (parsed.ec == std::errc() && parsed.ptr == end) Add(info.counter, count);
    }
  }
}

}  // namespace cccl_cache::daemon
