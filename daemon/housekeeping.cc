// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/housekeeping.h"

#include <chrono>
#include <optional>
#include <vector>

namespace cccl_cached {
namespace {

constexpr std::string_view kCountersName = "counters";
constexpr std::string_view kDeparturesName = "departures";
constexpr std::chrono::seconds kInterval{1};

}  // namespace

Housekeeping::Housekeeping(Parts parts) : parts_(parts) {
  if (const std::optional<std::string> counters = parts_.meta.GetMeta(kCountersName)) {
    parts_.statistics.Restore(*counters);
  }
  kept_ = parts_.statistics.Serialize();
  if (const std::optional<std::string> departures = parts_.meta.GetMeta(kDeparturesName)) {
    parts_.departures.Restore(*departures);
  }
  kept_departures_ = parts_.departures.noted();
  thread_ = std::jthread([this](std::stop_token stop) { Run(std::move(stop)); });
}

Housekeeping::~Housekeeping() {
  thread_.request_stop();
  thread_.join();
  KeepCounters();
  KeepDepartures();
}

void Housekeeping::Run(std::stop_token stop) {
  WarmDefaultToolchain();
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    KeepCounters();
    KeepDepartures();
    parts_.compiler.KeepOnly(parts_.toolchains.Present());
    stopped_.wait_for(lock, stop, kInterval, [] { return false; });
  }
}

void Housekeeping::WarmDefaultToolchain() {
  const std::vector<ToolchainPtr> present = parts_.toolchains.Present();
  if (present.empty()) {
    if (!parts_.toolchains.Looked()) return;  // stopped before
    parts_.log.Write(
        LogLevel::kWarning, "toolchain",
        "no CUDA toolchain was found: builds are refused until one is installed or named "
        "with --toolchain-root");
    return;
  }
  if (const Status warmed = parts_.compiler.Warm(*present.front()); !warmed) {
    parts_.log.Write(LogLevel::kWarning, "toolchain", warmed.error().message,
                     {{"version", present.front()->version()}});
  }
}

void Housekeeping::KeepCounters() {
  std::string counters = parts_.statistics.Serialize();
  if (counters == kept_) return;
  parts_.meta.PutMeta(kCountersName, counters);
  kept_ = std::move(counters);
}

void Housekeeping::KeepDepartures() {
  const uint64_t noted = parts_.departures.noted();
  if (noted == kept_departures_) return;
  parts_.meta.PutMeta(kDeparturesName, parts_.departures.Serialize());
  kept_departures_ = noted;
}

}  // namespace cccl_cached
