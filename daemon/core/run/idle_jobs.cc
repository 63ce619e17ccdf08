// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/idle_jobs.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};
// Enough to keep up with callers that come one after another.
constexpr size_t kMostThreads = 8;

}  // namespace

IdleJobs::IdleJobs(const Bounds& bounds, std::function<size_t()> busy)
    : bounds_(bounds), busy_(std::move(busy)) {
  for (size_t i = 0; i < std::min(bounds_.slots, kMostThreads); ++i) {
    threads_.emplace_back([this](std::stop_token stop) { Work(stop); });
  }
}

void IdleJobs::Stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

bool IdleJobs::Add(Account account, size_t bytes, Job job) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = users_.find(account);
    const size_t held = known == users_.end() ? 0 : known->second.bytes;
    const size_t jobs = known == users_.end() ? 0 : known->second.jobs.size();
    const Allowance allowance{bounds_.waiting_per_uid, bounds_.waiting};
    if (jobs >= allowance.Most(account, jobs, waiting_)) return false;
    if (bytes > bounds_.bytes_per_uid - held) return false;
    User& user = users_[account];
    user.jobs.push_back({account, bytes, std::move(job)});
    user.bytes += bytes;
    ++waiting_;
  }
  changed_.notify_one();
  return true;
}

void IdleJobs::MakeRoom() {
  std::vector<std::stop_source> stopped;
  {
    const std::lock_guard lock(mutex_);
    const size_t busy = busy_();
    const size_t room = busy < bounds_.slots ? bounds_.slots - busy : 0;
    // The oldest go on.
    if (running_.size() > room) {
      stopped.assign(std::next(running_.begin(), static_cast<ptrdiff_t>(room)), running_.end());
    }
  }
  for (std::stop_source& job : stopped) job.request_stop();
}

IdleJobs::Waiting IdleJobs::TakeNext() {
  auto user = users_.upper_bound(served_);
  if (user == users_.end()) user = users_.begin();
  served_ = user->first;
  Waiting next = std::move(user->second.jobs.front());
  user->second.jobs.pop_front();
  user->second.bytes -= next.bytes;
  --waiting_;
  if (user->second.jobs.empty()) users_.erase(user);
  return next;
}

void IdleJobs::PutBack(Waiting job) {
  User& user = users_[job.account];
  user.bytes += job.bytes;
  user.jobs.push_front(std::move(job));
  ++waiting_;
}

void IdleJobs::Work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return waiting_ > 0; })) {
    while (!stop.stop_requested() && !HasRoom()) {
      changed_.wait_for(lock, stop, kLookAgain, [] { return false; });
    }
    if (stop.stop_requested()) return;
    if (waiting_ == 0) continue;  // another thread took it
    Waiting next = TakeNext();
    const auto running = running_.emplace(running_.end());
    lock.unlock();
    std::stop_source& in_the_way = *running;
    {
      const std::stop_callback ended(stop, [&] { in_the_way.request_stop(); });
      next.job(in_the_way.get_token());
    }
    lock.lock();
    const bool again = in_the_way.stop_requested() && !stop.stop_requested();
    running_.erase(running);
    if (again) {
      PutBack(std::move(next));
      continue;
    }
    lock.unlock();
    next.job = nullptr;
    lock.lock();
  }
}

}  // namespace cccl_cache::daemon
