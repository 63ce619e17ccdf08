// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "daemon/core/model/result.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using Verdict = IdentifiedToolchain::Verdict;

constexpr std::chrono::milliseconds kRetryAfter{1'000};
constexpr size_t kMaxLooks = 64;  // limit of the toolchains that are compared at the same time
constexpr int kRoundsAtOnce = 2;  // limit for one toolchain: one comparison runs, one waits

struct Snapshot {
  ScanResult found;
  std::vector<ToolchainPtr> toolchains;  ///< the toolchains of found.present
  /// The toolchains for builds that name no id. They do not include releases that users added, so
  /// that a user can't change the compiler of other users' builds.
  std::vector<ToolchainPtr> installed;

  /// Returns the toolchains that the selector may choose from.
  [[nodiscard]] const std::vector<ToolchainPtr>& For(const ToolchainSelector& selector) const {
    return selector.id.empty() ? installed : toolchains;
  }
  Clock::time_point taken_at;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

ScanResult::IdentifiedPtr EntryOf(const Snapshot& snapshot, uint64_t serial) {
  const auto& present = snapshot.found.present;
  const auto entry = std::ranges::find_if(present, [&](const ScanResult::IdentifiedPtr& candidate) {
    return candidate->toolchain()->serial == serial;
  });
  return entry == present.end() ? nullptr : *entry;
}

BlockingPool::Bounds LookBounds(const RegistryOptions& options) {
  return {.name = "toolchain files",
          .awaited = "a toolchain's files",
          .threads_per_uid = 1,
          .waiting_per_uid = kRoundsAtOnce,
          .threads = kMaxLooks,
          .time = kRoundsAtOnce * options.look_time,
          .look_time = options.look_time};
}

Error FilesHang(const Toolchain& toolchain) {
  return {ErrorCode::kUnavailable,
          fmt::format("the files of toolchain {} in {} can't be looked at: their file system does "
                      "not answer; see to it, or name another toolchain",
                      toolchain.version(), toolchain.root),
          kRetryAfter};
}

Error StillTries() {
  return {ErrorCode::kUnavailable,
          "the daemon tries a toolchain's NVRTC and has got no answer yet, as on a machine under "
          "load: it keeps trying, ask again",
          kRetryAfter};
}

Error ScanHangs() {
  return {ErrorCode::kUnavailable,
          "the daemon looks for toolchains and does not come to an end: a file system that "
          "--toolchain-root, CUDA_PATH or the like lead to does not answer",
          kRetryAfter};
}

/// Lets a scan use the daemon's store, compiler and log until End(). A scan that hangs in a file
/// system may go on after those objects are destroyed, and must not use them then.
class Lent final : public MetaStore, public Compiler {
 public:
  Lent(MetaStore& meta, Compiler& compiler, ToolchainRegistry::ReportFunction report)
      : meta_(meta), compiler_(compiler), report_(std::move(report)) {}

  std::optional<std::string> GetMeta(std::string_view name) override {
    const MutexLock lock(mutex_);
    return ended_ ? std::nullopt : meta_.GetMeta(name);
  }
  void PutMeta(std::string_view name, std::string_view value) override {
    const MutexLock lock(mutex_);
    if (!ended_) meta_.PutMeta(name, value);
  }
  Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                std::stop_token stop) override {
    const MutexLock lock(mutex_);
    if (ended_) return Stopping();
    compiles_ = true;
    Result<CompileOutput> output = compiler_.Compile(job, limits, std::move(stop));
    compiles_ = false;
    return output;
  }
  [[nodiscard]] bool compiles() const { return compiles_; }
  void Report(const ToolchainReport& report) {
    const MutexLock lock(mutex_);
    if (!ended_) report_(report);
  }

  /// Waits for a call in progress. After the return, the store, compiler and log are not used any
  /// more.
  void End() {
    const MutexLock lock(mutex_);
    ended_ = true;
  }

 private:
  Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> compiles_{false};  ///< a compile is in progress, which holds the mutex
  MetaStore& meta_;
  Compiler& compiler_;
  const ToolchainRegistry::ReportFunction report_;
};

}  // namespace

/// The result of the last scan, and the callers that wait for a scan. The scanning thread shares
/// ownership, because it may outlive the registry if it hangs. Thread-safe.
class ToolchainRegistry::Scans : public std::enable_shared_from_this<Scans> {
 public:
  Scans(const RegistryOptions& options, MetaStore& meta, Compiler& compiler, ReportFunction report)
      : lent_(meta, compiler, std::move(report)),
        scanner_({options.places, options.own_uid,
                  [this](const ToolchainReport& told) { lent_.Report(told); }, options.probe_again},
                 lent_, lent_) {}

  /// Returns the result of the last scan. Returns null before the end of the first scan.
  SnapshotPtr Current() {
    const MutexLock lock(mutex_);
    return snapshot_;
  }
  /// Waits for the end of the first scan and returns the last result. If the registry is stopped
  /// first, returns a result without toolchains.
  SnapshotPtr FirstOrCurrent() {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return snapshot_ != nullptr || stopped_; });
    return snapshot_ != nullptr ? snapshot_ : std::make_shared<const Snapshot>();
  }
  bool Stopped() {
    const MutexLock lock(mutex_);
    return stopped_;
  }
  /// Returns an error if the running scan counts as hanging, and none otherwise.
  std::optional<Error> Hangs() {
    const MutexLock lock(mutex_);
    if (!hangs_) return std::nullopt;
    return lent_.compiles() ? StillTries() : ScanHangs();
  }

  void Wait(std::function<void()> done) {
    {
      const MutexLock lock(mutex_);
      if (!stopped_ && !hangs_) {
        waiting_.push_back(std::move(done));
        changed_.NotifyAll();
        return;
      }
    }
    done();
  }

  /// Scans repeatedly until a stop: after each `interval`, and as soon as a caller waits. A scan
  /// that takes longer than `scan_time` counts as hanging.
  void Run(const std::stop_token& stop, std::chrono::milliseconds interval,
           std::chrono::milliseconds scan_time) {
    std::chrono::milliseconds pause{0};
    MutexLock lock(mutex_);
    for (;;) {
      changed_.WaitFor(mutex_, stop, pause,
                       [this]() REQUIRES(mutex_) { return !waiting_.empty(); });
      if (stop.stop_requested()) return;
      scanning_ = StartScan();
      pause = scanning_ ? interval : std::min(interval, kRetryAfter);
      Waiting served = std::exchange(waiting_, {});
      changed_.WaitFor(mutex_, stop, scan_time, [this]() REQUIRES(mutex_) { return !scanning_; });
      if (stop.stop_requested()) {  // End() calls these callers back, too
        std::ranges::move(served, std::back_inserter(waiting_));
        return;
      }
      hangs_ = scanning_;
      if (hangs_) std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(served));
      lock.Unlock();
      for (const auto& done : served) done();
      served.clear();
      lock.Lock();
      changed_.Wait(mutex_, stop, [this]() REQUIRES(mutex_) { return !scanning_; });
    }
  }

  /// Stops the scan. Waits for its end, but at most 1 s. Even if it has not ended, it uses none of
  /// the objects in `lent_` after the return.
  void StopScan() {
    static constexpr std::chrono::milliseconds kCourtesy{1'000};
    stop_.request_stop();
    lent_.End();
    const MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, kCourtesy, [this]() REQUIRES(mutex_) { return !scanning_; });
  }

  /// Keeps the callback of a caller that waits for the comparison of a toolchain. CallBack with the
  /// returned number, or End, calls it. If the registry has stopped, calls it at once and returns
  /// none.
  std::optional<uint64_t> Hold(std::function<void()> done) {
    {
      const MutexLock lock(mutex_);
      if (!stopped_) {
        held_.emplace(++last_held_, std::move(done));
        return last_held_;
      }
    }
    done();
    return std::nullopt;
  }
  void CallBack(uint64_t number) {
    std::function<void()> done;
    {
      const MutexLock lock(mutex_);
      auto held = held_.extract(number);
      if (held.empty()) return;
      done = std::move(held.mapped());
      ++calling_back_;
    }
    done();
    done = nullptr;
    const MutexLock lock(mutex_);
    if (--calling_back_ == 0) changed_.NotifyAll();
  }

  /// Calls the callbacks of all waiting callers, and returns after the last one. A caller that
  /// comes later is called back at once.
  void End() {
    Waiting waiting;
    {
      const MutexLock lock(mutex_);
      stopped_ = true;
      waiting = std::exchange(waiting_, {});
      for (auto& [number, done] : held_) waiting.push_back(std::move(done));
      held_.clear();
      changed_.NotifyAll();
    }
    for (const auto& done : waiting) done();
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return calling_back_ == 0; });
  }

 private:
  using Waiting = std::vector<std::function<void()>>;

  /// Starts a scan on a detached thread, because the scan may hang. Returns false if the system
  /// can't start a thread.
  bool StartScan() {
    try {
      std::thread([self = shared_from_this()] { self->Scan(); }).detach();
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }
  /// Scans once. Keeps the result unless the scan was stopped.
  void Scan() {
    NameThread("toolchain scan");
    const SnapshotPtr former = Current();
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->found = scanner_.Scan(former ? former->found : ScanResult{}, stop_.get_token());
    for (const auto& entry : snapshot->found.present) {
      snapshot->toolchains.push_back(entry->toolchain());
      if (!entry->installation().added) snapshot->installed.push_back(entry->toolchain());
    }
    snapshot->taken_at = Clock::now();
    const MutexLock lock(mutex_);
    if (!stop_.stop_requested()) snapshot_ = std::move(snapshot);
    scanning_ = false;
    hangs_ = false;
    changed_.NotifyAll();
  }

  Lent lent_;
  ToolchainScanner scanner_;  ///< used on the scanning thread only
  std::stop_source stop_;

  Mutex mutex_;
  CondVar changed_;
  SnapshotPtr snapshot_ GUARDED_BY(mutex_);  ///< null before the first scan
  Waiting waiting_ GUARDED_BY(mutex_);       ///< callers that wait for the next scan
  /// Callers that wait for a comparison of one toolchain.
  std::map<uint64_t, std::function<void()>> held_ GUARDED_BY(mutex_);
  uint64_t last_held_ GUARDED_BY(mutex_) = 0;
  int calling_back_ GUARDED_BY(mutex_) = 0;  ///< number of CallBack calls in progress
  bool scanning_ GUARDED_BY(mutex_) = false;
  bool hangs_ GUARDED_BY(mutex_) = false;    ///< the running scan has taken longer than scan_time
  bool stopped_ GUARDED_BY(mutex_) = false;  ///< the registry has stopped: callers are called back
                                             ///< at once
};

ToolchainRegistry::ToolchainRegistry(RegistryOptions options, MetaStore& meta, Compiler& compiler,
                                     ReportFunction report)
    : options_(std::move(options)),
      looks_(LookBounds(options_)),
      scans_(std::make_shared<Scans>(options_, meta, compiler, std::move(report))),
      thread_([this](const std::stop_token& stop) {
        NameThread("toolchains");
        scans_->Run(stop, options_.rescan_interval, options_.scan_time);
      }) {}

ToolchainRegistry::~ToolchainRegistry() {
  if (thread_.joinable()) Stop();
}

void ToolchainRegistry::Stop() {
  thread_.request_stop();
  thread_.join();
  scans_->StopScan();
  scans_->End();
}

void ToolchainRegistry::Rescan(std::function<void()> done) { scans_->Wait(std::move(done)); }

std::optional<Result<ToolchainPtr>> ToolchainRegistry::Select(const ToolchainSelector& selector,
                                                              uint32_t driver_version,
                                                              BuildKind kind) {
  if (const SnapshotPtr snapshot = scans_->Current()) {
    Result<ToolchainPtr> chosen = Choose(snapshot->For(selector), {selector, driver_version, kind});
    if (chosen.ok()) {
      const Verdict verdict = EntryOf(*snapshot, (*chosen)->serial)->Known(looks_);
      if (verdict == Verdict::kSame) return chosen;
      if (verdict == Verdict::kHangs) return FilesHang(**chosen);
      if (verdict == Verdict::kExpired) return std::nullopt;
    } else if (chosen.error().code != ErrorCode::kToolchainNotFound) {
      return chosen;
    } else if (IsByLibrary(selector) ||
               (!snapshot->found.unsettled &&
                Clock::now() - snapshot->taken_at < options_.unknown_interval)) {
      return NotFound(chosen.error().message, snapshot->For(selector), snapshot->found.rejected);
    }
  } else if (IsByLibrary(selector)) {
    return NotFound("the daemon still looks for toolchains", {}, {});
  }
  if (scans_->Stopped()) return Stopping();
  if (auto why = scans_->Hangs()) return *std::move(why);
  return std::nullopt;
}

void ToolchainRegistry::WhenKnown(const ToolchainSelector& selector, uint32_t driver_version,
                                  BuildKind kind, std::function<void()> done) {
  if (const SnapshotPtr snapshot = scans_->Current()) {
    const auto chosen = Choose(snapshot->For(selector), {selector, driver_version, kind});
    const auto entry = chosen.ok() ? EntryOf(*snapshot, (*chosen)->serial) : nullptr;
    if (entry != nullptr && entry->Known(looks_) == Verdict::kExpired) {
      const std::optional<uint64_t> held = scans_->Hold(std::move(done));
      if (held) entry->Look(looks_, [scans = scans_, held] { scans->CallBack(*held); });
      return;
    }
  }
  Rescan(std::move(done));
}

bool ToolchainRegistry::Unchanged(const Toolchain& toolchain) {
  const auto entry = EntryOf(*scans_->FirstOrCurrent(), toolchain.serial);
  if (entry == nullptr) return false;
  const auto looked = std::make_shared<std::promise<void>>();
  entry->Look(looks_, [looked] { looked->set_value(); });
  looked->get_future().wait();
  return entry->Known(looks_) == Verdict::kSame;
}

bool ToolchainRegistry::Looked() { return scans_->Current() != nullptr; }

std::vector<ToolchainPtr> ToolchainRegistry::Present() {
  return scans_->FirstOrCurrent()->toolchains;
}

std::vector<RejectedToolchain> ToolchainRegistry::Rejected() {
  return scans_->FirstOrCurrent()->found.rejected;
}

}  // namespace cccl_cache::daemon
