// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/core/model/file_descriptor.h"

namespace cccl_cache::daemon {

/// Closes sockets of clients in a thread of its own, for a close may wait (interrupted_waits.h).
/// Thread-safe.
class SocketCloser {
 public:
  SocketCloser() : thread_([this] { Run(); }) {}
  /// Closes what is left.
  ~SocketCloser();
  SocketCloser(const SocketCloser&) = delete;
  SocketCloser& operator=(const SocketCloser&) = delete;

  void Close(FileDescriptor socket);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FileDescriptor> sockets_;  // guarded by mutex_
  bool stopped_ = false;                 // guarded by mutex_
  std::thread thread_;
};

}  // namespace cccl_cache::daemon
