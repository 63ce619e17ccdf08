// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace cccl_cache {

/// While an object of this class lives, pthread_cancel() does not end the thread that made it. Each
/// function that foreign programs call makes such an object. A thread that ended inside such a
/// function would leave locks and connections in an undefined state, and its stack can't unwind
/// through functions that are noexcept. A cancellation that is requested meanwhile takes effect at
/// the thread's first cancellation point after the object is destroyed. Usable in signal handlers.
class CancellationDisabled {
 public:
  CancellationDisabled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationDisabled() { pthread_setcancelstate(before_, nullptr); }
  CancellationDisabled(const CancellationDisabled&) = delete;
  CancellationDisabled& operator=(const CancellationDisabled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace cccl_cache
