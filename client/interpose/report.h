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

/// The reason why a call was forwarded to the real library.
enum class Reason : uint32_t {
  kNoDaemon,       ///< no daemon listens, or calls pause after a failure
  kSilent,         ///< the daemon did not answer in time, or closed the connection
  kNotReady,       ///< the daemon is still reading its toolchains
  kFull,           ///< the daemon's queue is full, or a quota is used up
  kTooSlow,        ///< the compile takes longer than `run --wait` allows
  kNotCached,      ///< the result is not cached, and `run --wait 0` forbids to wait for a compile
  kRefused,        ///< the daemon does not support the request, for example one of its options
                   ///< or files
  kNotItsLibrary,  ///< no toolchain of the daemon contains the real library
  kNotServed,      ///< calls of this kind always go to the real library
  kDenied,         ///< this user has no permission to use the daemon's socket, or for this request
  kCount
};
constexpr std::array<std::string_view, static_cast<size_t>(Reason::kCount)> kReasonNames = {
    "no daemon",          "daemon silent", "daemon not ready",   "daemon full",
    "longer than --wait", "not cached",    "request not served", "library unknown to daemon",
    "call not served",    "access denied"};

/// The counts of one stand-in library in one process. They are in a file in the directory
/// $CCCL_CACHE_RUN_REPORT, which the process maps, so that they remain after a crash. `run
/// --report` reads the files. New members must be added at the end.
struct ProcessCounts {
  static constexpr uint32_t kVersion = 4;
  static constexpr char kVariable[] = "CCCL_CACHE_RUN_REPORT";

  uint32_t version = kVersion;
  int32_t pid = 0;
  char program[64] = {};  ///< name of the process, from /proc/self/comm
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> joined{0};
  std::atomic<uint64_t> compiled{0};
  std::atomic<uint64_t> failed{0};  ///< builds with a compile error
  std::atomic<uint64_t> call_us{0};
  std::atomic<uint64_t> forwarded_us{0};  ///< part of call_us that the real library took
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Reason::kCount)> forwarded{};
  std::atomic<bool> refused{false};
  char refusal[256] = {};  ///< the daemon's message for the first refused request
  /// Time saved by hits and joined compiles: for each, the time of the original compile minus the
  /// time of the call.
  std::atomic<uint64_t> saved_us{0};
  std::atomic<uint64_t> uncacheable{0};  ///< compiles with an uncacheable result, also in
                                         ///< `compiled`
  char uncacheable_reason[256] = {};     ///< the reason of the first uncacheable result
  std::atomic<bool> library_kept{false};
  char unknown_library[1024] = {};               ///< path of the first library that is in no
                                                 ///< toolchain of the daemon
  std::atomic<uint64_t> precompiled_headers{0};  ///< compiles that used precompiled headers
  int32_t step_of = 0;  ///< process of the run of nvcc of which this one is a step; 0: none
};

/// Counts one compile or link in the report, and measures its time from the construction to the
/// destruction of this object.
class CountedCall {
 public:
  CountedCall();
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  /// Records that the real library handles the rest of the call, and why.
  void Forward(Reason why);

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> forwarded_;
};

/// Returns the counts of this process. If no report was requested, the counts are in ordinary
/// memory and are not reported. A forked child gets its own counts. Thread-safe, and usable after
/// fork().
[[nodiscard]] ProcessCounts& Counts();

/// Records the daemon's message for the first refused request. Later messages are ignored.
/// Thread-safe.
void KeepRefusal(std::string_view message);
/// Records the path of the first library that is in no toolchain of the daemon. The program does
/// not wait for an explanation: `run` asks the daemon about the path later. Thread-safe.
void KeepUnknownLibrary(std::string_view path);
/// Counts a compile with an uncacheable result. Records the reason of the first one. Thread-safe.
void CountUncacheable(std::string_view reason);

}  // namespace cccl_cache::interpose
