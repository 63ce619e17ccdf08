// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/health.h"

#include <algorithm>
#include <utility>

namespace cccl_cache::daemon {

bool Health::Knows(std::string_view service) {
  return service.empty() || service == kReadyService ||
         std::ranges::find(kOwnServices, service) != std::end(kOwnServices);
}

bool Health::serving() const {
  std::lock_guard lock(mutex_);
  return serving_;
}

bool Health::ready() const {
  std::lock_guard lock(mutex_);
  return IsReady();
}

std::string Health::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

void Health::SetServing(bool serving) {
  std::lock_guard lock(mutex_);
  serving_ = serving;
  NotifyAll();
}

void Health::SetProblem(std::string problem) {
  std::lock_guard lock(mutex_);
  const bool was_ready = IsReady();
  problem_ = std::move(problem);
  if (IsReady() != was_ready) NotifyAll();
}

void Health::NotifyAll() {
  for (Watcher* watcher : watchers_) watcher->Notify(serving_, IsReady());
}

void Health::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  for (Watcher* watcher : watchers_) watcher->Stop();
}

void Health::Add(Watcher& watcher) {
  std::lock_guard lock(mutex_);
  watchers_.insert(&watcher);
  watcher.Notify(serving_, IsReady());
  if (stopped_) watcher.Stop();
}

void Health::Remove(Watcher& watcher) {
  std::lock_guard lock(mutex_);
  watchers_.erase(&watcher);
}

}  // namespace cccl_cache::daemon
