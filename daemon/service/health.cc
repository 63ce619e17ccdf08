// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/health.h"

#include <algorithm>

namespace cccl_cached {

bool Health::Knows(std::string_view service) {
  return service.empty() || std::ranges::find(kOwnServices, service) != std::end(kOwnServices);
}

bool Health::serving() const {
  std::lock_guard lock(mutex_);
  return serving_;
}

void Health::SetServing(bool serving) {
  std::lock_guard lock(mutex_);
  serving_ = serving;
  for (Watcher* watcher : watchers_) watcher->Notify(serving);
}

void Health::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  for (Watcher* watcher : watchers_) watcher->Stop();
}

void Health::Add(Watcher& watcher) {
  std::lock_guard lock(mutex_);
  watchers_.insert(&watcher);
  watcher.Notify(serving_);
  if (stopped_) watcher.Stop();
}

void Health::Remove(Watcher& watcher) {
  std::lock_guard lock(mutex_);
  watchers_.erase(&watcher);
}

}  // namespace cccl_cached
