// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/absent_names.h"

namespace cccl_cache::daemon {

bool AbsentNames::Knows(const ContentStamp& directory, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(directory);
  return found != names_.end() && found->second.contains(name);
}

void AbsentNames::Remember(const ContentStamp& directory, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (max_names_ == 0) return;
  if (size_ == max_names_) {
    names_.clear();
    size_ = 0;
  }
  if (names_[directory].emplace(name).second) ++size_;
}

size_t AbsentNames::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace cccl_cache::daemon
