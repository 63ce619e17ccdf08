// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/system/blocking_pool.h"
#include "daemon/toolchain/capability_probe.h"
#include "daemon/toolchain/identity.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/layout.h"
#include "daemon/toolchain/survey.h"

namespace cccl_cache::daemon {

/// A toolchain whose files have been identified. It detects changes of these files. If the kernel
/// does not report changes, the files are compared with their recorded stamps on separate threads,
/// because a file system may hang. Other threads read the result of the last comparison and do not
/// wait. Thread-safe. Use a shared_ptr: a hanging thread keeps the object alive.
class IdentifiedToolchain : public std::enable_shared_from_this<IdentifiedToolchain> {
 public:
  /// The result of a comparison is valid for this time after its end.
  static constexpr std::chrono::milliseconds kCounts{1'000};
  /// If the last result is older than this, a call of Known starts a new comparison. The old result
  /// is still valid meanwhile, so frequent callers never wait.
  static constexpr std::chrono::milliseconds kDue{500};

  struct Parts {
    ToolchainPtr toolchain;
    Installation installation;
    std::unique_ptr<InstallationWatch> watch;  ///< made before the survey, to miss no change
    bool changes_are_reported = false;         ///< copy of Survey::changes_are_reported
    /// Returns whether the files differ from the survey. It may hang and then outlive this object,
    /// so it must own all data that it uses.
    std::function<bool()> differ;
  };
  enum class Verdict {
    kSame,
    kChanged,  ///< the files have changed; this verdict is permanent
    kExpired,  ///< the last result is no longer valid, and the next comparison has not ended
    kHangs,    ///< the file system did not answer the last comparison in time
  };

  explicit IdentifiedToolchain(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const ToolchainPtr& toolchain() const { return parts_.toolchain; }
  [[nodiscard]] const Installation& installation() const { return parts_.installation; }
  /// Returns whether the kernel reports changes, so that the files need not be compared.
  [[nodiscard]] bool watched() const {
    return parts_.changes_are_reported && parts_.watch->complete();
  }

  /// Returns the verdict without reading a file. If the kernel reports changes, the verdict
  /// includes every change that was complete before this call. Otherwise it is the result of the
  /// last comparison, and this call starts the next comparison on `threads` if one is due.
  [[nodiscard]] Verdict Known(BlockingPool& threads);
  /// Calls `done` once, on any thread, when Known has a valid result: at once if the kernel reports
  /// changes, otherwise after a comparison that begins after this call. If the file system hangs,
  /// `done` is called after the time limit of `threads`. All calls before the comparison begins
  /// share it. Each toolchain has its own account in `threads`.
  void Look(BlockingPool& threads, std::function<void()> done);
  /// Returns whether the kernel reported a change; reads no file.
  [[nodiscard]] bool NotedChange() { return parts_.watch->Changed(); }
  /// Compares the stamps of all files on this thread, even if the kernel reported no change. Stores
  /// the result for Known. Returns whether the stamps differ.
  bool StampsDiffer();

 private:
  using Waiting = std::shared_ptr<std::vector<std::function<void()>>>;

  /// Removes this list of callbacks from next_, so that later calls of Look start another
  /// comparison.
  void Forget(const Waiting& waiting);
  [[nodiscard]] bool Due() const;
  [[nodiscard]] std::chrono::steady_clock::duration Age() const;

  const Parts parts_;
  std::atomic<bool> changed_{false};
  std::atomic<bool> hangs_{false};
  std::atomic<std::chrono::steady_clock::time_point> compared_at_{std::chrono::steady_clock::now()};

  mutable Mutex mutex_;
  /// Callbacks for the end of the next comparison, which is queued and has not begun. Null: no
  /// comparison is queued.
  Waiting next_ GUARDED_BY(mutex_);
};

/// One line for the daemon's log.
struct ToolchainReport {
  bool warning = false;
  std::string text;
};

/// The result of one scan.
struct ScanResult {
  using IdentifiedPtr = std::shared_ptr<IdentifiedToolchain>;

  std::vector<IdentifiedPtr> present;     ///< newest first; equal versions in search order
  std::vector<IdentifiedPtr> duplicates;  ///< installations with the same contents as an entry of
                                          ///< `present`
  std::vector<RejectedToolchain> rejected;
  bool unsettled = false;  ///< a toolchain was rejected because its files changed during the scan
};

/// Finds, identifies and probes all toolchains. It keeps the entries of the previous scan whose
/// files have not changed. Not thread-safe.
class ToolchainScanner {
 public:
  using ReportFunction = std::function<void(const ToolchainReport&)>;

  struct Setup {
    SearchPlaces places;
    uid_t own_uid = 0;
    ReportFunction report;
    std::chrono::milliseconds probe_again;  ///< see CapabilityProbe
  };

  ToolchainScanner(Setup setup, MetaStore& meta, Compiler& compiler);

  /// Returns the toolchains that are installed now. `former` is the result of the previous scan. If
  /// `stop` is requested, the result is incomplete and must not be used.
  ScanResult Scan(const ScanResult& former, const std::stop_token& stop);

 private:
  using IdentifiedPtr = ScanResult::IdentifiedPtr;

  struct Look {
    Result<IdentifiedPtr> entry;
    bool unsettled = false;  ///< no entry, because the files changed during the scan
  };
  /// Returns the entry of the previous scan if its files have not changed, else a new entry.
  Look EntryOf(const Installation& installation, const ScanResult& former,
               const std::stop_token& stop);
  Look IdentifyAgain(const Installation& installation, const std::stop_token& stop);
  Result<ToolchainPtr> Identify(const Installation& installation, const Survey& survey,
                                const std::stop_token& stop);
  void ReportChanges(const ScanResult& former, const ScanResult& now) const;
  void ReportArrival(const IdentifiedToolchain& entry) const;

  const Setup setup_;
  Identifier identifier_;
  CapabilityProbe probe_;
  uint64_t last_serial_ = 0;
};

}  // namespace cccl_cache::daemon
