// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>

#include "base/files/file_descriptor.h"

namespace cccl_cache {

/// Polls a socket for 100 microseconds before the calling thread sleeps. The daemon answers from
/// memory or its disk cache faster than an idle processor wakes up. After polls without a result,
/// SeesReadable() skips later polls with exponential backoff, so that a thread that waits for a
/// compile sleeps at once. Not thread-safe.
class Glance {
 public:
  /// Returns whether the socket is readable. If not, the caller should sleep until it is.
  [[nodiscard]] bool SeesReadable(int socket);

 private:
  unsigned in_vain_ = 0;  ///< successive polls without a result
  unsigned left_out_ = 0;
};

/// Waits until the descriptor is readable, or its peer has closed the connection. Returns false if
/// neither happened within `patience`.
[[nodiscard]] bool WaitReadable(int fd, std::chrono::milliseconds patience);

/// A descriptor that becomes readable when a stop is requested, so that poll() can wait for a
/// stop_token. Used by the thread that made it. Any thread may request the stop.
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
  std::stop_callback<Signal> callback_;  ///< declared last: it uses event_
};

}  // namespace cccl_cache
