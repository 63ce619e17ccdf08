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

/// A toolchain, and the means to notice changes of its files since it was identified. If the kernel
/// does not report its changes, its files are compared on threads that may hang, and the result is
/// published to threads that must not wait. Thread-safe. Owned by shared_ptr, because a thread that
/// hangs keeps it alive.
class IdentifiedToolchain : public std::enable_shared_from_this<IdentifiedToolchain> {
 public:
  /// Duration for which a result is valid, from the end of the comparison.
  static constexpr std::chrono::milliseconds kCounts{1'000};
  /// Age of a result at which the next comparison is due; it ends before the result expires, so
  /// that frequent callers never wait.
  static constexpr std::chrono::milliseconds kDue{500};

  struct Parts {
    ToolchainPtr toolchain;
    Installation installation;
    std::unique_ptr<InstallationWatch> watch;  ///< made before the survey
    bool changes_are_reported = false;         ///< as in Survey
    /// Compares the files and may hang, so it must own everything that it uses.
    std::function<bool()> differ;
  };
  enum class Verdict {
    kSame,
    kChanged,  ///< permanent
    kExpired,  ///< the last result is too old, and the next comparison has not ended
    kHangs,    ///< the file system has not answered in time
  };

  explicit IdentifiedToolchain(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const ToolchainPtr& toolchain() const { return parts_.toolchain; }
  [[nodiscard]] const Installation& installation() const { return parts_.installation; }
  /// Returns whether the kernel reports changes, so that the files need not be compared.
  [[nodiscard]] bool watched() const {
    return parts_.changes_are_reported && parts_.watch->complete();
  }

  /// Returns the verdict without reading a file. If the kernel reports changes, it includes every
  /// change that ended before the call. Otherwise it is the result of the last comparison; while
  /// there are callers, `threads` repeat it.
  [[nodiscard]] Verdict Known(BlockingPool& threads);
  /// Calls `done` once, on any thread, when Known has a current result: at once, or after a
  /// comparison of all files that began after this call, or when the file system counts as hung.
  /// In `threads` each toolchain has an account. Calls before a comparison begins share it.
  void Look(BlockingPool& threads, std::function<void()> done);
  /// Returns whether the kernel reported a change; reads no file.
  [[nodiscard]] bool NotedChange() { return parts_.watch->Changed(); }
  /// Compares the stamps of all files on this thread, even without events, and publishes the
  /// result. Returns whether they differ.
  bool StampsDiffer();

 private:
  using Waiting = std::shared_ptr<std::vector<std::function<void()>>>;

  /// Lets no further callers join the comparison that these wait for.
  void Forget(const Waiting& waiting);
  [[nodiscard]] bool Due() const;
  [[nodiscard]] std::chrono::steady_clock::duration Age() const;

  const Parts parts_;
  std::atomic<bool> changed_{false};
  std::atomic<bool> hangs_{false};
  std::atomic<std::chrono::steady_clock::time_point> compared_at_{std::chrono::steady_clock::now()};

  mutable Mutex mutex_;
  /// Callers that wait for the comparison that is queued and has not begun; null: there is none.
  Waiting next_ GUARDED_BY(mutex_);
};

/// One line for the log.
struct ToolchainReport {
  bool warning = false;
  std::string text;
};

/// The result of one scan.
struct ScanResult {
  using IdentifiedPtr = std::shared_ptr<IdentifiedToolchain>;

  std::vector<IdentifiedPtr> present;     ///< newest first; equal versions in search order
  std::vector<IdentifiedPtr> duplicates;  ///< same contents as an entry of `present`, in another
                                          ///< place
  std::vector<RejectedToolchain> rejected;
  bool unsettled = false;  ///< a toolchain was rejected because its files changed during the scan
};

/// Finds, identifies and probes all toolchains. Reuses the entries of the former scan that did not
/// change. Not thread-safe.
class ToolchainScanner {
 public:
  using ReportFunction = std::function<void(const ToolchainReport&)>;

  struct Setup {
    SearchPlaces places;
    uid_t own_uid = 0;
    ReportFunction report;
    std::chrono::milliseconds probe_again;  ///< as in CapabilityProbe
  };

  ToolchainScanner(Setup setup, MetaStore& meta, Compiler& compiler);

  /// Must not be used if `stop` was requested.
  ScanResult Scan(const ScanResult& former, const std::stop_token& stop);

 private:
  using IdentifiedPtr = ScanResult::IdentifiedPtr;

  struct Look {
    Result<IdentifiedPtr> entry;
    bool unsettled = false;  ///< no entry, because the files changed during the scan
  };
  /// Returns the former entry if it is still valid, else a new one.
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
