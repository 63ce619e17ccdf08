// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/idle_jobs.h"

#include <chrono>
#include <utility>

namespace cccl_cached {
namespace {

constexpr size_t kMostJobs = 256;
constexpr std::chrono::milliseconds kLookAgain{100};

}  // namespace

IdleJobs::IdleJobs(std::function<bool()> idle)
    : idle_(std::move(idle)), thread_([this](std::stop_token stop) { Work(stop); }) {}

void IdleJobs::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void IdleJobs::Add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= kMostJobs) jobs_.pop_front();
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void IdleJobs::Work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !jobs_.empty(); })) {
    while (!stop.stop_requested() && !idle_()) {
      changed_.wait_for(lock, stop, kLookAgain, [] { return false; });
    }
    if (stop.stop_requested()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(stop);
    lock.lock();
  }
}

}  // namespace cccl_cached
