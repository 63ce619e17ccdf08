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

/// Why a call went to the real library.
enum class Reason : uint32_t {
  kNoDaemon,       ///< none listens, or it is not asked again yet
  kSilent,         ///< it did not answer in time, or went away
  kNotReady,       ///< it still reads its toolchains
  kFull,           ///< it has no room
  kTooSlow,        ///< its compile takes longer than `run --wait` allows
  kNotCached,      ///< it has no result yet, and `run --wait 0` takes hits alone
  kRefused,        ///< it does not serve such a request, for example for an option or a file
  kNotItsLibrary,  ///< it has no toolchain with this library
  kNotServed,      ///< calls that always go to the real library
  kDenied,         ///< this user may not use its socket, or not so
  kCount
};
constexpr std::array<std::string_view, static_cast<size_t>(Reason::kCount)> kReasonNames = {
    "no daemon",          "daemon silent", "daemon not ready",   "daemon full",
    "longer than --wait", "not cached",    "request not served", "library unknown to daemon",
    "call not served",    "access denied"};

/// The counts of one library in one process, in a file of its own below $CCCL_CACHE_RUN_REPORT that
/// the process maps. So they are there however the process ends. `run --report` reads the files.
/// Members may be added at the end only.
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
  std::atomic<uint64_t> failed{0};  ///< programs that do not compile
  std::atomic<uint64_t> call_us{0};
  std::atomic<uint64_t> forwarded_us{0};  ///< of them, in the real library
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Reason::kCount)> forwarded{};
  std::atomic<bool> refused{false};
  char refusal[256] = {};  ///< the daemon's message for the first request that it did not serve
  /// Of hits and joined compiles: how much longer the compile took when it was made than the call.
  std::atomic<uint64_t> saved_us{0};
  std::atomic<uint64_t> uncacheable{0};  ///< of the compiled
  char uncacheable_reason[256] = {};     ///< of the first one
  std::atomic<bool> library_kept{false};
  char unknown_library[1024] = {};               ///< the first one that the daemon does not have
  std::atomic<uint64_t> precompiled_headers{0};  ///< compiles that used some
};

/// Counts and times one compile or link, from its beginning to the end of the object.
class CountedCall {
 public:
  CountedCall();
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  /// From here on the real library does it.
  void Forward(Reason why);

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> forwarded_;
};

/// Returns the counts of this process; without a report, unused ones. Thread-safe, and usable after
/// fork(): the child has counts of its own.
[[nodiscard]] ProcessCounts& Counts();

/// Keeps for the report why the first request was not served, as the daemon said. Thread-safe.
void KeepRefusal(std::string_view message);
/// Keeps for the report the first library that the daemon does not have; `run` asks the daemon what
/// it is, so that the program does not wait for that. Thread-safe.
void KeepUnknownLibrary(std::string_view path);
/// Counts a compile with an uncacheable result, and keeps the first reason for the report.
/// Thread-safe.
void CountUncacheable(std::string_view reason);

}  // namespace cccl_cache::interpose
