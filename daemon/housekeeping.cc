// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/housekeeping.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kCountersName = "counters";
constexpr std::string_view kHoursName = "hours";
constexpr std::string_view kEvictionLogName = "departures";
constexpr std::chrono::seconds kInterval{1};
constexpr uint64_t kTurnsBetweenShelves = 10;
/// The rows by hour are longer than the counters, so they are stored once a minute.
constexpr uint64_t kTurnsBetweenHours = 60;
/// The daemon counts as not ready for this long after an error.
constexpr std::chrono::seconds kErrorsAreRecent{60};

constexpr std::string_view kLooking = "it still looks for toolchains, and builds wait for that";
constexpr std::string_view kNoToolchain =
    "it has no toolchain and can compile nothing: install CUDA's packages, or the wheels of NVRTC, "
    "nvJitLink and libNVVM, or name their directory to the daemon with --toolchain-root; "
    "`cccl-cache-cli toolchains` tells what was found and is not used";

void Append(std::string& problems, std::string_view problem) {
  if (problem.empty()) return;
  if (!problems.empty()) problems += "; ";
  problems += problem;
}

/// Returns the number of errors of the stores. Errors of compiles are not included, because any
/// client can cause them.
uint64_t Errors(const Statistics& statistics) {
  return statistics.Get(Counter::kStoreErrors) + statistics.Get(Counter::kCorruptEntries) +
         statistics.Get(Counter::kShadowMismatches);
}

}  // namespace

Housekeeping::Housekeeping(Parts parts) : parts_(std::move(parts)) {
  if (const std::optional<std::string> counters = parts_.meta.GetMeta(kCountersName)) {
    parts_.statistics.Restore(*counters);
  }
  kept_ = parts_.statistics.Serialize();
  if (const std::optional<std::string> hours = parts_.meta.GetMeta(kHoursName)) {
    parts_.hours.Restore(*hours);
  }
  kept_hours_ = parts_.hours.Serialize();
  NoteHour();
  if (const std::optional<std::string> eviction_log = parts_.meta.GetMeta(kEvictionLogName)) {
    parts_.eviction_log.Restore(*eviction_log);
  }
  kept_evictions_ = parts_.eviction_log.noted();
  errors_ = Errors(parts_.statistics);
  parts_.tell_problem(Problem());
  thread_ = std::jthread([this](std::stop_token stop) { Run(std::move(stop)); });
}

Housekeeping::~Housekeeping() {
  thread_.request_stop();
  thread_.join();
  NoteHour();
  KeepCounters();
  KeepHours();
  KeepEvictionLog();
}

void Housekeeping::Run(std::stop_token stop) {
  NameThread("housekeeping");
  WarmDefaultToolchain();
  const MutexLock lock(mutex_);
  for (uint64_t turn = 0; !stop.stop_requested(); ++turn) {
    if (turn % kTurnsBetweenShelves == 0) parts_.look_at_shelves();
    NoteHour();
    if (turn % kTurnsBetweenHours == 0) KeepHours();
    KeepCounters();
    KeepEvictionLog();
    parts_.compiler.KeepOnly(parts_.toolchains.Present());
    parts_.tell_problem(Problem());
    stopped_.WaitFor(mutex_, stop, kInterval, [] { return false; });
  }
}

void Housekeeping::WarmDefaultToolchain() {
  const std::vector<ToolchainPtr> present = parts_.toolchains.Present();
  parts_.tell_problem(Problem());
  if (present.empty()) {
    if (!parts_.toolchains.Looked()) return;  // stopped before the first search ended
    parts_.log.Write(
        LogLevel::kWarning, "toolchain",
        "no CUDA toolchain was found: builds are refused until one is installed or named "
        "with --toolchain-root");
    return;
  }
  // A release that a user added is present but never the default.
  const auto chosen = parts_.toolchains.Select({}, /*driver_version=*/0, BuildKind::kNvrtc);
  if (!chosen || !chosen->ok()) return;
  const Toolchain& toolchain = ***chosen;
  if (const Status warmed = parts_.compiler.Warm(toolchain); !warmed) {
    parts_.log.Write(LogLevel::kWarning, "toolchain", warmed.error().message,
                     {{"version", toolchain.version()}});
  }
}

std::string Housekeeping::Problem() {
  std::string problems;
  if (!parts_.toolchains.Looked()) {
    Append(problems, kLooking);
  } else if (parts_.toolchains.Present().empty()) {
    Append(problems, kNoToolchain);
  }
  const std::string store = parts_.store_problem();
  if (!store.empty()) {
    Append(problems, fmt::format("its store can't be written ({}): what it builds now is lost when "
                                 "it ends; make room on the disk of its state directory",
                                 store));
  }
  if (const std::string why = parts_.lease_problem(); !why.empty()) {
    Append(problems, fmt::format("it grants no leases ({})", why));
  }
  Append(problems, RecentErrors(!store.empty()));
  return problems;
}

std::string Housekeeping::RecentErrors(bool store_failed) {
  const uint64_t errors = Errors(parts_.statistics);
  const auto now = std::chrono::steady_clock::now();
  // If the store can't be written, Problem() reports that separately, until a write succeeds again.
  const bool told = std::exchange(store_failed_, store_failed) || store_failed;
  if (errors > errors_ && !told) last_error_ = now;
  errors_ = errors;
  if (!last_error_ || now - *last_error_ >= kErrorsAreRecent) return {};
  return "within the last minute entries of its store were damaged, wrong or could not be read or "
         "written: `cccl-cache-cli stats -v` counts them (corrupt_entries_total, "
         "store_errors_total, shadow_mismatches_total), and its log names those damaged";
}

void Housekeeping::KeepCounters() {
  std::string counters = parts_.statistics.Serialize();
  if (counters == kept_) return;
  parts_.meta.PutMeta(kCountersName, counters);
  kept_ = std::move(counters);
}

void Housekeeping::NoteHour() {
  parts_.hours.Note(std::chrono::system_clock::now(), parts_.statistics);
}

void Housekeeping::KeepHours() {
  std::string hours = parts_.hours.Serialize();
  if (hours == kept_hours_) return;
  parts_.meta.PutMeta(kHoursName, hours);
  kept_hours_ = std::move(hours);
}

void Housekeeping::KeepEvictionLog() {
  const uint64_t noted = parts_.eviction_log.noted();
  if (noted == kept_evictions_) return;
  parts_.meta.PutMeta(kEvictionLogName, parts_.eviction_log.Serialize());
  kept_evictions_ = noted;
}

}  // namespace cccl_cache::daemon
