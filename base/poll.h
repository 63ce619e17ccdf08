// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>

#include "base/files/file_descriptor.h"

namespace cccl_cache {

/// Polls a socket for a moment before its thread sleeps. An answer from the daemon's memory, or a
/// file from its disk cache, comes sooner than an idle processor wakes. After polls without a
/// result, later polls are skipped with exponential backoff, so that a thread that waits for
/// compiles or for a processor sleeps at once. Not thread-safe.
class Glance {
 public:
  /// Returns whether there is something to read. False: the caller should sleep.
  [[nodiscard]] bool SeesReadable(int socket);

 private:
  unsigned in_vain_ = 0;  ///< successive polls without a result
  unsigned left_out_ = 0;
};

/// Waits until the descriptor is readable, which includes the end of its peer. Returns false if
/// `patience` ran out first.
[[nodiscard]] bool WaitReadable(int fd, std::chrono::milliseconds patience);

/// A descriptor that is readable after a stop request, for a poll loop with a stop_token. Used by
/// the thread that made it. The request may come from any thread.
class StopEvent {
 public:
  explicit StopEvent(std::stop_token stop);
  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;

  [[nodiscard]] bool valid() const { return event_.valid(); }
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  struct Signal {
    int fd;
    void operator()() const;
  };

  FileDescriptor event_;
  std::stop_callback<Signal> callback_;  ///< after event_, so destroyed before it
};

}  // namespace cccl_cache
