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

/// Runs blocking work for builds on other threads: checks of a caller's files, reads of the
/// daemon's disk, and long computations. The build is parked in the FlightTable meanwhile, and
/// holds no thread. Thread-safe.
class AsyncLookups {
 public:
  using Then = std::function<void(BuildPtr)>;
  struct Timeouts {
    std::chrono::milliseconds look{120'000};  ///< for a check of files, including its wait in the
                                              ///< queue
    std::chrono::milliseconds disk{5'000};    ///< from the start to the end of one read of the disk
  };

  /// The table and the responder must outlive this object.
  AsyncLookups(FlightTable& table, Responder& responder, const Timeouts& patience);

  /// Runs `look`, which reads the caller's files, and then calls `then` with the build. `look` may
  /// hang for ever, so it may use only objects that it owns. If `look` takes too long, or too many
  /// such calls are queued, the build is answered with an error.
  void AtFiles(BuildPtr build, std::function<void()> look, Then then);
  /// Runs `work`, a computation that uses only objects that it owns, and then calls `then` with the
  /// build. If `work` takes too long, or too many computations are queued, the build is answered
  /// with an error and counted as refused.
  void Compute(BuildPtr build, std::function<void()> work, Then then);
  /// Runs `read`, which reads the daemon's disk, and then calls `then` with the build. If the disk
  /// does not answer in time, or too many reads are queued, `without` is called with the build
  /// instead. It continues the build as if the disk were empty. A dry run is answered with an error
  /// instead. Close waits for `read`.
  void AtDisk(BuildPtr build, std::function<void()> read, Then then, Then without);
  /// Returns when no callback runs, and none will run later. Waits for a read of the disk in
  /// progress. Parked builds stay in the table.
  void Close();

  /// Return the threads, for work that belongs to no parked build.
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
  /// Threads for callers that send the contents of their files. They are separate from `files_`, so
  /// that a caller that does not answer delays no reads of a file system.
  BlockingPool sent_files_;
  BlockingPool disk_;
  BlockingPool computing_;
};

}  // namespace cccl_cache::daemon
