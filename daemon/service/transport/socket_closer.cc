// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/socket_closer.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "daemon/service/transport/interrupted_waits.h"

namespace cccl_cache::daemon {
namespace {

/// As long as one client's socket may hold up the next.
constexpr std::chrono::milliseconds kPatience{1};

}  // namespace

SocketCloser::~SocketCloser() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SocketCloser::Close(FileDescriptor socket) {
  {
    const std::lock_guard lock(mutex_);
    sockets_.push_back(std::move(socket));
  }
  changed_.notify_all();
}

void SocketCloser::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !sockets_.empty(); });
    if (sockets_.empty()) return;
    std::vector<FileDescriptor> closing = std::exchange(sockets_, {});
    lock.unlock();
    {
      const InterruptedWaits interrupted(gettid(), kPatience);
      closing.clear();
    }
    lock.lock();
  }
}

}  // namespace cccl_cache::daemon
