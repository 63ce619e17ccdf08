// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/stop_event.h"

#include <sys/eventfd.h>

namespace cccl_cache::daemon {

StopEvent::StopEvent(std::stop_token stop)
    : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      callback_(std::move(stop), Signal{event_.get()}) {}

void StopEvent::Signal::operator()() const { eventfd_write(fd, 1); }

}  // namespace cccl_cache::daemon
