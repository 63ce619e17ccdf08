// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/toolchain_registry.h"

#include <algorithm>
#include <utility>

#include "daemon/core/stopping.h"
#include "daemon/toolchain/selection.h"

namespace cccl_cached {
namespace {

ScanResult::IdentifiedPtr EntryOf(const ScanResult& found, uint64_t serial) {
  const auto entry =
      std::ranges::find_if(found.present, [&](const ScanResult::IdentifiedPtr& candidate) {
        return candidate->toolchain()->serial == serial;
      });
  return entry == found.present.end() ? nullptr : *entry;
}

}  // namespace

ToolchainRegistry::ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                                     ReportFunction report)
    : options_(std::move(options)),
      scanner_({options_.places, options_.own_uid, std::move(report)}, meta, compiler),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

ToolchainRegistry::~ToolchainRegistry() {
  if (thread_.joinable()) Stop();
}

void ToolchainRegistry::Stop() {
  thread_.request_stop();
  thread_.join();
}

std::optional<Result<ToolchainPtr>> ToolchainRegistry::Select(
    const cccl_cache::ToolchainSelector& selector, uint32_t driver_version,
    cccl_cache::BuildKind kind) {
  if (const SnapshotPtr snapshot = Current()) {
    Result<ToolchainPtr> chosen = Choose(snapshot->toolchains, {selector, driver_version, kind});
    if (chosen.ok()) {
      if (!EntryOf(snapshot->found, (*chosen)->serial)->ChangedLately()) return chosen;
    } else if (chosen.error().code != ErrorCode::kToolchainNotFound) {
      return chosen;
    } else if (!snapshot->found.unsettled &&
               std::chrono::steady_clock::now() - snapshot->taken_at < options_.unknown_interval) {
      return NotFound(chosen.error().message, snapshot->toolchains, snapshot->found.rejected);
    }
  }
  if (!Stopped()) return std::nullopt;
  return Stopping();
}

void ToolchainRegistry::Rescan(std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) {
      waiting_.push_back(std::move(done));
      changed_.notify_all();
      return;
    }
  }
  done();
}

bool ToolchainRegistry::Unchanged(const Toolchain& toolchain) {
  const ScanResult::IdentifiedPtr entry = EntryOf(FirstOrCurrent()->found, toolchain.serial);
  return entry != nullptr && !entry->Changed();
}

bool ToolchainRegistry::Looked() { return Current() != nullptr; }

std::vector<ToolchainPtr> ToolchainRegistry::Present() { return FirstOrCurrent()->toolchains; }

std::vector<RejectedToolchain> ToolchainRegistry::Rejected() {
  return FirstOrCurrent()->found.rejected;
}

ToolchainRegistry::SnapshotPtr ToolchainRegistry::Current() {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

ToolchainRegistry::SnapshotPtr ToolchainRegistry::FirstOrCurrent() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return snapshot_ != nullptr || stopped_; });
  return snapshot_ != nullptr ? snapshot_ : std::make_shared<const Snapshot>();
}

bool ToolchainRegistry::Stopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

void ToolchainRegistry::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Waiting waiting = TakeWaiting();
    Scan(stop);
    for (const auto& done : waiting) done();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, options_.rescan_interval, [this] { return !waiting_.empty(); });
  }
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (const auto& done : TakeWaiting()) done();
}

void ToolchainRegistry::Scan(const std::stop_token& stop) {
  const SnapshotPtr former = Current();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->found = scanner_.Scan(former ? former->found : ScanResult{}, stop);
  if (stop.stop_requested()) return;
  for (const auto& entry : snapshot->found.present) {
    snapshot->toolchains.push_back(entry->toolchain());
  }
  snapshot->taken_at = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    snapshot_ = snapshot;
  }
  changed_.notify_all();
}

ToolchainRegistry::Waiting ToolchainRegistry::TakeWaiting() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_, {});
}

}  // namespace cccl_cached
