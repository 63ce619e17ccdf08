// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/leases/held_call.h"

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace cccl_cache {

HeldCall::HeldCall(OpenCall open, std::chrono::milliseconds first, Beat beat)
    : open_(std::move(open)), first_(first), beat_(std::move(beat)) {
  int ends[2];
  const bool paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
  if (paired) {
    wake_ = VerifiedDescriptor(FileDescriptor(ends[0]));
    woken_ = VerifiedDescriptor(FileDescriptor(ends[1]));
  }
  // The thread blocks all signals, because the program's signal handlers must not run on it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // If there is no thread, nothing is sent, and the daemon ends the call after a time.
  has_thread_ = paired && pthread_create(&thread_, nullptr, RunThread, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HeldCall::~HeldCall() {
  if (owned()) StopThread();
}

void* HeldCall::RunThread(void* self) {
  static_cast<HeldCall*>(self)->KeepAlive();
  return nullptr;
}

void HeldCall::KeepAlive() {
  Call* call = open_.call.get();
  open_.connection->Recheck();  // other code of the program may have closed the socket since the
                                // thread began
  Deadline next = Deadline::After(first_);
  while (!stop_ && !call->ended()) {
    // woken_ becomes readable when wake_ is shut down. It is also readable if the program has
    // closed wake_. In that case it is not polled, because poll would always return at once.
    const auto wake = [this] { return wake_.Get() >= 0 ? woken_.Get() : -1; };
    while (!stop_ && !call->ended() && open_.connection->Turn(call, next, wake())) {
    }
    next = Deadline::After(beat_());
  }
  if (call->ended()) ended_ = true;
}

void HeldCall::StopThread() {
  if (!std::exchange(has_thread_, false)) return;
  stop_ = true;
  // If the program has closed wake_, it can't be shut down. The thread then ends after its present
  // interval.
  if (const int wake = wake_.Get(); wake >= 0) shutdown(wake, SHUT_RDWR);
  pthread_join(thread_, nullptr);
}

}  // namespace cccl_cache
