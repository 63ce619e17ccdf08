// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdlib>

namespace cccl_cache::daemon {

/// Keeps this process from starting threads until it is destroyed: there is no memory for a stack.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    constexpr size_t kMoreThanThereIs = size_t{1} << 60;
    pthread_attr_t none;
    if (pthread_getattr_default_np(&before_) != 0 || pthread_getattr_default_np(&none) != 0 ||
        pthread_attr_setstacksize(&none, kMoreThanThereIs) != 0 ||
        pthread_setattr_default_np(&none) != 0) {
      std::abort();
    }
    pthread_attr_destroy(&none);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace cccl_cache::daemon
