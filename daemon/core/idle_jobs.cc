// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/idle_jobs.h"

#include <chrono>
#include <utility>

namespace cccl_cached {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};

}  // namespace

IdleJobs::IdleJobs(const Bounds& bounds, std::function<bool()> idle)
    : bounds_(bounds),
      idle_(std::move(idle)),
      thread_([this](std::stop_token stop) { Work(stop); }) {}

void IdleJobs::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void IdleJobs::Add(uid_t uid, size_t bytes, Job job) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = users_.find(uid);
    const size_t held = known == users_.end() ? 0 : known->second.bytes;
    const size_t jobs = known == users_.end() ? 0 : known->second.jobs.size();
    if (waiting_ >= bounds_.waiting || jobs >= bounds_.waiting_per_uid) return;
    if (bytes > bounds_.bytes_per_uid - held) return;
    User& user = users_[uid];
    user.jobs.push_back({bytes, std::move(job)});
    user.bytes += bytes;
    ++waiting_;
  }
  changed_.notify_one();
}

IdleJobs::Job IdleJobs::TakeNext() {
  auto user = users_.upper_bound(served_);
  if (user == users_.end()) user = users_.begin();
  served_ = user->first;
  Waiting next = std::move(user->second.jobs.front());
  user->second.jobs.pop_front();
  user->second.bytes -= next.bytes;
  --waiting_;
  if (user->second.jobs.empty()) users_.erase(user);
  return std::move(next.job);
}

void IdleJobs::Work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return waiting_ > 0; })) {
    while (!stop.stop_requested() && !idle_()) {
      changed_.wait_for(lock, stop, kLookAgain, [] { return false; });
    }
    if (stop.stop_requested()) return;
    Job job = TakeNext();
    lock.unlock();
    job(stop);
    job = nullptr;
    lock.lock();
  }
}

}  // namespace cccl_cached
