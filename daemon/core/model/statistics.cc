// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/statistics.h"

#include <fmt/format.h>

#include <charconv>

namespace cccl_cache::daemon {
namespace {

constexpr double kMicroseconds = 1e6;

// In the order in which they are displayed.
constexpr CounterInfo kCounters[] = {
    {Counter::kBuilds, "builds_total", "", "Builds requested."},
    {Counter::kHitsMemory, "hits_total", "memory", "Builds served from this tier of the cache."},
    {Counter::kHitsDisk, "hits_total", "disk", "Builds served from this tier of the cache."},
    {Counter::kHitsShelf, "hits_total", "shelf", "Builds served from this tier of the cache."},
    {Counter::kHitsRemote, "hits_total", "remote", "Builds served from this tier of the cache."},
    {Counter::kMisses, "misses_total", "", "Cacheable builds that were in no tier of the cache."},
    {Counter::kJoins, "joins_total", "",
     "Builds that waited for another caller's compile of the same key."},
    {Counter::kCompiles, "compiles_total", "", "Compiles that ran to their end."},
    {Counter::kGivenUp, "given_up_total", "",
     "Compiles stopped when a header named paths, and run again under the real paths."},
    {Counter::kRetries, "retries_total", "", "Compiles repeated because a worker died."},
    {Counter::kPchBuilds, "pch_builds_total", "", "Compiles that used precompiled headers."},
    {Counter::kPchFailures, "pch_failures_total", "",
     "Compiles repeated without precompiled headers because these were of no use."},
    {Counter::kPreambles, "preambles_total", "", "Precompiled headers made in the background."},
    {Counter::kPreambleFailures, "preamble_failures_total", "",
     "Headers that could not be precompiled or kept."},
    {Counter::kPathProofs, "path_proofs_total", "",
     "Programs compiled to PTX as well, which is searched for paths because their output can't "
     "be."},
    {Counter::kMemoryWaits, "memory_waits_total", "",
     "Compiles, background ones included, that waited until their memory fitted "
     "compile_memory_limit."},
    {Counter::kRememberedFailures, "remembered_failures_total", "",
     "Compile errors returned again without another attempt."},
    {Counter::kCompileFailures, "compile_failures_total", "",
     "Compiles that ended with a compile error."},
    {Counter::kUncacheable, "uncacheable_total", "", "Compiles whose result is never cached."},
    {Counter::kWorkerCrashes, "worker_crashes_total", "", "Workers that were killed by a signal."},
    {Counter::kTimeouts, "timeouts_total", "", "Compiles stopped at the time limit."},
    {Counter::kOutOfMemory, "out_of_memory_total", "", "Compiles stopped at the memory limit."},
    {Counter::kCancelled, "cancelled_total", "",
     "Queued or running compiles cancelled because no caller waited any more."},
    {Counter::kRefused, "refused_total", "", "Requests and connections that were refused."},
    {Counter::kCutOff, "connections_cut_off_total", "",
     "Connections closed because the client broke a protocol rule."},
    {Counter::kCorruptEntries, "corrupt_entries_total", "",
     "Cache entries dropped because they failed verification."},
    {Counter::kStoreErrors, "store_errors_total", "",
     "Reads and writes of the database that failed."},
    {Counter::kShadowChecks, "shadow_checks_total", "", "Hits compiled again for verification."},
    {Counter::kShadowMismatches, "shadow_mismatches_total", "",
     "Verified hits whose compile gave different bytes."},
    {Counter::kCompileMicroseconds, "compile_seconds_total", "", "Time spent compiling.",
     kMicroseconds},
    {Counter::kGivenUpMicroseconds, "given_up_seconds_total", "",
     "Time spent in the compiles that given_up_total counts.", kMicroseconds},
    {Counter::kSavedMicroseconds, "saved_seconds_total", "",
     "Compile time saved by hits and joins.", kMicroseconds},
    {Counter::kSavedUnknown, "saved_unknown_total", "",
     "Hits and joins that saved_seconds_total leaves out: a result from an older snapshot does not "
     "tell how long its compile took."},
    {Counter::kEvictions, "evictions_total", "", "Entries evicted to stay within the store limit."},
    {Counter::kTooLarge, "oversized_total", "",
     "Entries not written to disk because each is larger than the store limit."},
    {Counter::kDeposits, "deposits_total", "", "Deposits made by clients."},
    {Counter::kDepositHits, "deposit_hits_total", "",
     "Acquire calls that found a deposit at once, on this node or in Redis."},
    {Counter::kDepositWaits, "deposit_waits_total", "",
     "Acquire calls that waited for another caller's deposit."},
    {Counter::kDepositReadBytes, "deposit_read_bytes_total", "",
     "Size of the deposits that callers got from others, in bytes."},
    {Counter::kDepositSavedMicroseconds, "deposit_saved_seconds_total", "",
     "Time for which others made these deposits, in seconds; unknown times are left out.",
     kMicroseconds},
    {Counter::kDepositEvictions, "deposit_evictions_total", "",
     "Deposits evicted to stay within a limit."},
    {Counter::kLeases, "leases_total", "", "Leases granted."},
    {Counter::kLeasesLost, "leases_lost_total", "",
     "Leases revoked because the holder sent no heartbeat, exceeded lease_limit, or the daemon "
     "stopped."},
    {Counter::kLeasesFailed, "leases_failed_total", "",
     "Leases given up as failed, which released all waiters."},
    {Counter::kShelfLate, "shelf_late_total", "",
     "Compiles that began because a shelf did not answer in time."},
    {Counter::kShelfRefused, "shelf_refused_total", "",
     "Entries of shelves whose bytes are not what was signed, or whose signer is revoked."},
    {Counter::kRemoteLookups, "remote_lookups_total", "",
     "Compiles, and deposits of groups, that Redis was asked for."},
    {Counter::kRemoteDeposits, "remote_deposits_total", "",
     "Deposits of groups that were taken from Redis."},
    {Counter::kRemoteAnswers, "remote_answers_total", "",
     "Looks into Redis that it answered; a compile looks up to three times."},
    {Counter::kRemoteAnswerMicroseconds, "remote_answer_seconds_total", "",
     "Time until Redis had answered these looks.", kMicroseconds},
    {Counter::kRemoteLate, "remote_late_total", "",
     "Compiles and leases that began because Redis did not answer in time."},
    {Counter::kRemoteUntrusted, "remote_untrusted_total", "",
     "Entries in Redis that no trusted key signed."},
    {Counter::kRemoteForged, "remote_forged_total", "",
     "Entries in Redis with a signature that is not of their signer."},
    {Counter::kRemoteOtherKey, "remote_other_key_total", "",
     "Entries in Redis that were signed for another key."},
    {Counter::kRemoteExpired, "remote_expired_total", "",
     "Entries in Redis that were signed too long ago, or in the future."},
    {Counter::kRemoteMalformed, "remote_malformed_total", "",
     "Entries in Redis that are no entries, or were cut off."},
    {Counter::kRemoteTooLarge, "remote_oversized_total", "",
     "Entries in Redis that are larger than this node takes."},
    {Counter::kRemoteCorrupt, "remote_corrupt_total", "",
     "Entries in Redis whose contents are not what was signed, or that this version can't read."},
    {Counter::kRemoteWrites, "remote_writes_total", "", "Entries written to Redis."},
    {Counter::kRemoteWritesFailed, "remote_writes_failed_total", "",
     "Entries that could not be written to Redis."},
    {Counter::kRemoteWritesFenced, "remote_writes_fenced_total", "",
     "Deposits not written to Redis, because another node makes or has written them."},
    {Counter::kRemoteStayHome, "remote_stayed_home_total", "",
     "Entries not written to Redis because they are too large."},
    {Counter::kRemoteLeases, "remote_leases_total", "",
     "Compiles and deposits that this node made for the cluster."},
    {Counter::kRemoteWaits, "remote_waits_total", "",
     "Compiles and deposits that another node made, and this one waited for."},
    {Counter::kRemoteWaitsInVain, "remote_waits_in_vain_total", "",
     "Compiles and deposits that another node made for too long, so that this one made them, too."},
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
