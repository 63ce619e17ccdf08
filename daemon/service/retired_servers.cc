// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/retired_servers.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "daemon/service/transport/interrupted_waits.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kPatience{20};

}  // namespace

RetiredServers::RetiredServers() : thread_([this] { Run(); }) {}

RetiredServers::~RetiredServers() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RetiredServers::Add(std::shared_ptr<void> server) {
  {
    std::lock_guard lock(mutex_);
    servers_.push_back(std::move(server));
  }
  changed_.notify_all();
}

size_t RetiredServers::Count() const {
  std::lock_guard lock(mutex_);
  return servers_.size();
}

void RetiredServers::WaitForAll() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return servers_.empty(); });
}

void RetiredServers::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !servers_.empty(); });
    if (servers_.empty()) return;
    std::shared_ptr<void> ending = std::move(servers_.front());
    lock.unlock();
    {
      // The end of its sockets may take as long as a client likes.
      const InterruptedWaits interrupted(gettid(), kPatience);
      ending.reset();
    }
    lock.lock();
    servers_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace cccl_cache::daemon
