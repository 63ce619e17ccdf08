// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "daemon/core/file_checks.h"
#include "daemon/core/flight_table.h"
#include "daemon/core/responder.h"

namespace cccl_cached {

/// Looks for which a build waits parked, without the thread that brought it: at its files, or at
/// what is only on the daemon's disk. A look at files that takes too long, and one at either that
/// finds too many before it, ends with the build's being answered so; a read of the disk that has
/// begun is waited for. Thread-safe.
class ParkedLooks {
 public:
  using Then = std::function<void(WaiterPtr)>;

  /// The table and the responder must outlive it. `patience`: how long a look may take.
  ParkedLooks(FlightTable& table, Responder& responder, std::chrono::milliseconds patience);

  /// `look` is at the caller's files and may hang for ever, so it may use only what it owns.
  void AtFiles(WaiterPtr waiter, std::function<void()> look, Then then);
  /// `then` is what reads the disk: Close waits for it.
  void AtDisk(WaiterPtr waiter, Then then);
  /// No `then` follows, nor runs when this returns: it waits for the disk, if that is being read.
  /// Who is parked stays so.
  void Close();

  /// The threads, for what parks no build.
  [[nodiscard]] FileChecks& files() { return files_; }
  [[nodiscard]] FileChecks& sent_files() { return sent_files_; }
  [[nodiscard]] FileChecks& disk() { return disk_; }

 private:
  struct Look {
    std::function<void()> look;
    Then then;
    const Error& late;  ///< told to whom it takes too long
  };
  void Park(WaiterPtr waiter, FileChecks& threads, Look look);

  FlightTable& table_;
  Responder& responder_;
  const Error files_hang_;
  const Error disk_hangs_;
  FileChecks files_;
  /// Of callers that send their files: who does not answer holds up no look at a disk.
  FileChecks sent_files_;
  FileChecks disk_;
};

}  // namespace cccl_cached
