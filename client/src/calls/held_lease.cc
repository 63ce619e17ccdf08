// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/held_lease.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <utility>

namespace cccl_cache {
namespace {

/// For the daemon to hear that a lease was abandoned; it would notice by the connection's end.
constexpr std::chrono::seconds kFarewell{1};

}  // namespace

HeldLease::HeldLease(OpenCall open, std::unique_ptr<DepositConversation> conversation,
                     std::string socket)
    : conversation_(std::move(conversation)),
      open_(std::move(open)),
      socket_(std::move(socket)),
      owner_(getpid()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // No signal of the program's is handled on a thread of ours.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Without a thread the daemon takes the lease away by and by, as from one that is stopped.
  has_thread_ = wake_.valid() && pthread_create(&thread_, nullptr, RunThread, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HeldLease::~HeldLease() { Abandon(); }

bool HeldLease::held() const { return !over_ && !ended_ && getpid() == owner_; }

void* HeldLease::RunThread(void* self) {
  static_cast<HeldLease*>(self)->KeepAlive();
  return nullptr;
}

void HeldLease::KeepAlive() {
  Call* call = open_.call.get();
  while (!stop_ && !call->ended()) {
    const Deadline next = Deadline::After(conversation_->heartbeat());
    while (!stop_ && !call->ended() && open_.connection->Turn(call, next, wake_.get())) {
    }
    conversation_->SayHeartbeat();
  }
  if (call->ended()) ended_ = true;
}

void HeldLease::StopThread() {
  if (!std::exchange(has_thread_, false)) return;
  stop_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  pthread_join(thread_, nullptr);
}

void HeldLease::Converse(const Deadline& deadline) {
  Call* call = open_.call.get();
  while (!call->ended()) {
    if (!open_.connection->Turn(call, deadline)) call->End(CallEnd::kDeadline);
  }
  open_.connection->Finish(call);
}

Expected<Done> HeldLease::Publish(std::string_view contents, Deadline deadline) {
  if (getpid() != owner_) {
    return Error{CCCL_CACHE_LEASE_LOST,
                 "the lease is held by the process that forked this one: acquire it here"};
  }
  if (over_.exchange(true)) {
    return Error{CCCL_CACHE_LEASE_LOST, "the lease was published or abandoned before"};
  }
  StopThread();
  const bool said = !open_.call->ended();
  conversation_->SayPublication(contents);
  Converse(deadline);
  return Outcome(said);
}

Expected<Done> HeldLease::Outcome(bool said) const {
  switch (open_.call->end()) {
    case CallEnd::kAnswered:
      if (!open_.call->status().ok()) return open_.call->status().ToError();
      if (conversation_->published()) return Done{};
      [[fallthrough]];
    case CallEnd::kMalformed:
      return Error{CCCL_CACHE_PROTOCOL,
                   "cccl-cached at " + socket_ + " did not answer a publication as agreed"};
    case CallEnd::kDeadline:
      return Error{CCCL_CACHE_DEADLINE, "cccl-cached at " + socket_ +
                                            " did not take the publication in time: it is not "
                                            "known whether it is kept"};
    default:
      return Error{CCCL_CACHE_LEASE_LOST,
                   "the lease was lost: cccl-cached at " + socket_ +
                       " ended or was started anew, " +
                       (said ? "and it is not known whether what was made is kept"
                             : "and nothing was deposited") +
                       "; acquire it again"};
  }
}

void HeldLease::Abandon() {
  if (getpid() != owner_ || over_.exchange(true)) return;
  StopThread();
  conversation_->SayAbandonment();
  Converse(Deadline::After(kFarewell));
}

}  // namespace cccl_cache
