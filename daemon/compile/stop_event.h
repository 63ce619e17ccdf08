// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

#include "base/file_descriptor.h"

namespace cccl_cache::daemon {

/// A descriptor that is readable once a stop was requested: it brings a stop_token into a poll
/// loop. Used by the thread that made it; the request may come from any thread.
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

}  // namespace cccl_cache::daemon
