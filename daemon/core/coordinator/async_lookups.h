// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "daemon/core/coordinator/build.h"
#include "daemon/core/coordinator/flight_table.h"
#include "daemon/core/coordinator/responder.h"
#include "daemon/core/model/result.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// Work for which a build is parked without holding its thread: looks at its files, reads of the
/// daemon's disk, and long computations. Thread-safe.
class AsyncLookups {
 public:
  using Then = std::function<void(BuildPtr)>;
  struct Timeouts {
    std::chrono::milliseconds look{120'000};  ///< for a look, including its wait in the queue
    std::chrono::milliseconds disk{5'000};    ///< for one read of the disk
  };

  /// The table and the responder must outlive it.
  AsyncLookups(FlightTable& table, Responder& responder, const Timeouts& patience);

  /// Runs `look`, which reads the caller's files. It may hang for ever, so it may use only objects
  /// that it owns. If it takes too long, or too many looks are queued, the build ends with an
  /// error.
  void AtFiles(BuildPtr build, std::function<void()> look, Then then);
  /// Runs `work`, a computation that uses only objects that it owns. If too much work is queued, or
  /// it takes too long, the build is refused.
  void Compute(BuildPtr build, std::function<void()> work, Then then);
  /// Runs `read`, which reads the disk; Close waits for it. If the disk does not answer in time or
  /// too many reads are queued, `without` continues the build as if the disk were empty. A dry run
  /// ends with an error.
  void AtDisk(BuildPtr build, std::function<void()> read, Then then, Then without);
  /// Returns when no `then` runs and none will run. Waits for a read of the disk in progress.
  /// Parked builds stay parked.
  void Close();

  /// Return the threads, for work that parks no build.
  [[nodiscard]] BlockingPool& files() { return files_; }
  [[nodiscard]] BlockingPool& sent_files() { return sent_files_; }
  [[nodiscard]] BlockingPool& disk() { return disk_; }

 private:
  struct Look {
    std::function<void()> look;
    Then then;
    Then late;
    std::function<void(BuildPtr, const Error&)> refused;
  };
  void Park(BuildPtr build, BlockingPool& threads, Look look);

  FlightTable& table_;
  Responder& responder_;
  const Error files_hang_;
  const Error disk_hangs_;
  BlockingPool files_;
  /// For callers that send their files, so that a caller that does not answer delays no look at a
  /// disk.
  BlockingPool sent_files_;
  BlockingPool disk_;
  BlockingPool computing_;
};

}  // namespace cccl_cache::daemon
