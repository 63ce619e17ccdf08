// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cccl_cache::interpose {

/// Why a call was forwarded to the real library.
enum class Reason : uint32_t {
  kNoDaemon,       ///< no daemon listens, or it is not asked again yet
  kSilent,         ///< the daemon did not answer in time, or went away
  kNotReady,       ///< the daemon is still reading its toolchains
  kFull,           ///< the daemon's queue or a quota is full
  kTooSlow,        ///< the compile takes longer than `run --wait` allows
  kNotCached,      ///< a miss, and `run --wait 0` accepts only hits
  kRefused,        ///< the daemon does not serve such a request, for example because of an option
                   ///< or a file
  kNotItsLibrary,  ///< the daemon has no toolchain with this library
  kNotServed,      ///< a call that always goes to the real library
  kDenied,         ///< this user may not use the socket, or not this way
  kCount
};
constexpr std::array<std::string_view, static_cast<size_t>(Reason::kCount)> kReasonNames = {
    "no daemon",          "daemon silent", "daemon not ready",   "daemon full",
    "longer than --wait", "not cached",    "request not served", "library unknown to daemon",
    "call not served",    "access denied"};

/// The counts of one library in one process, in a file below $CCCL_CACHE_RUN_REPORT that the
/// process maps, so that they remain even after a crash. `run --report` reads the files. New
/// members go at the end.
struct ProcessCounts {
  static constexpr uint32_t kVersion = 4;
  static constexpr char kVariable[] = "CCCL_CACHE_RUN_REPORT";

  uint32_t version = kVersion;
  int32_t pid = 0;
  char program[64] = {};  ///< the process' name, as in /proc/PID/comm
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> joined{0};
  std::atomic<uint64_t> compiled{0};
  std::atomic<uint64_t> failed{0};  ///< compile errors
  std::atomic<uint64_t> call_us{0};
  std::atomic<uint64_t> forwarded_us{0};  ///< the part of call_us in the real library
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Reason::kCount)> forwarded{};
  std::atomic<bool> refused{false};
  char refusal[256] = {};  ///< the daemon's message for the first request that it did not serve
  /// Sum over hits and joined compiles: the time of the original compile less the time of the call.
  std::atomic<uint64_t> saved_us{0};
  std::atomic<uint64_t> uncacheable{0};  ///< part of `compiled`
  char uncacheable_reason[256] = {};     ///< the reason of the first uncacheable result
  std::atomic<bool> library_kept{false};
  char unknown_library[1024] = {};               ///< path of the first library that the daemon does
                                                 ///< not have
  std::atomic<uint64_t> precompiled_headers{0};  ///< compiles that used some
};

/// Counts and times one compile or link, from the construction to the destruction of the object.
class CountedCall {
 public:
  CountedCall();
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  /// Records that the real library does the call, from now on.
  void Forward(Reason why);

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> forwarded_;
};

/// Returns the counts of this process; without a report, counts that are not used. Thread-safe, and
/// usable after fork(): a child has counts of its own.
[[nodiscard]] ProcessCounts& Counts();

/// Keeps the daemon's message for the first refused request, for the report. Thread-safe.
void KeepRefusal(std::string_view message);
/// Keeps the path of the first library that the daemon does not have, for the report. `run` asks
/// the daemon about it later, so that the program does not wait. Thread-safe.
void KeepUnknownLibrary(std::string_view path);
/// Counts a compile with an uncacheable result, and keeps the first reason for the report.
/// Thread-safe.
void CountUncacheable(std::string_view reason);

}  // namespace cccl_cache::interpose
