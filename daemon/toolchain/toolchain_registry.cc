// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/toolchain_registry.h"

#include <algorithm>
#include <utility>

#include "daemon/toolchain/selection.h"

namespace cccl_cached {
namespace {

/// How often a request follows a toolchain that changes again each time it has been identified.
constexpr int kMaxAttempts = 4;
constexpr std::chrono::seconds kSettling{1};

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
      thread_([this] { ScanRegularly(stop_.get_token()); }) {}

ToolchainRegistry::~ToolchainRegistry() { stop_.request_stop(); }

Result<ToolchainPtr> ToolchainRegistry::Select(const cccl_cache::ToolchainSelector& selector,
                                               uint32_t driver_version,
                                               cccl_cache::BuildKind kind) {
  const ToolchainWish wish{selector, driver_version, kind};
  SnapshotPtr snapshot = Current();
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const Result<ToolchainPtr> chosen = Choose(snapshot->toolchains, wish);
    if (chosen.ok()) {
      if (!EntryOf(snapshot->found, (*chosen)->serial)->ChangedLately()) return chosen;
    } else if (chosen.error().code != ErrorCode::kToolchainNotFound) {
      return chosen;
    } else if (std::chrono::steady_clock::now() - snapshot->taken_at < options_.unknown_interval) {
      return NotFound(chosen.error().message, snapshot->toolchains, snapshot->found.rejected);
    }
    snapshot = ScanAfter(snapshot);
  }
  return Error{ErrorCode::kUnavailable,
               "the toolchain's files change all the time; ask again when its installation is done",
               kSettling};
}

bool ToolchainRegistry::Unchanged(const Toolchain& toolchain) {
  const ScanResult::IdentifiedPtr entry = EntryOf(Current()->found, toolchain.serial);
  return entry != nullptr && !entry->Changed();
}

std::vector<ToolchainPtr> ToolchainRegistry::Present() { return Current()->toolchains; }

std::vector<RejectedToolchain> ToolchainRegistry::Rejected() { return Current()->found.rejected; }

void ToolchainRegistry::Rescan() {
  const std::lock_guard lock(scan_mutex_);
  ScanNow(Current());
}

ToolchainRegistry::SnapshotPtr ToolchainRegistry::Current() {
  std::unique_lock lock(mutex_);
  scanned_.wait(lock, [this] { return snapshot_ != nullptr; });
  return snapshot_;
}

ToolchainRegistry::SnapshotPtr ToolchainRegistry::ScanAfter(const SnapshotPtr& seen) {
  const std::lock_guard lock(scan_mutex_);
  SnapshotPtr current = Current();
  return current == seen ? ScanNow(current) : current;
}

ToolchainRegistry::SnapshotPtr ToolchainRegistry::ScanNow(const SnapshotPtr& former) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->found = scanner_.Scan(former ? former->found : ScanResult{}, stop_.get_token());
  for (const auto& entry : snapshot->found.present) {
    snapshot->toolchains.push_back(entry->toolchain());
  }
  snapshot->taken_at = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    snapshot_ = snapshot;
  }
  scanned_.notify_all();
  if (!former || former->toolchains != snapshot->toolchains) {
    options_.on_change(snapshot->toolchains);
  }
  return snapshot;
}

void ToolchainRegistry::ScanRegularly(const std::stop_token& stop) {
  {
    const std::lock_guard lock(scan_mutex_);
    ScanNow(nullptr);
  }
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    scanned_.wait_for(lock, stop, options_.rescan_interval, [] { return false; });
    lock.unlock();
    if (!stop.stop_requested()) Rescan();
  }
}

}  // namespace cccl_cached
