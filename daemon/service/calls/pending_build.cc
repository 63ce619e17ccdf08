// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/pending_build.h"

#include <utility>

namespace cccl_cache::daemon {

bool PendingBuild::Start(const std::shared_ptr<PendingBuild>& pending,
                         std::shared_ptr<const cccl_cache::BuildRequest> request,
                         const Caller& caller, Answer answer) {
  // The caller's own reference may go while the builder answers.
  const std::shared_ptr<PendingBuild> self = pending;
  {
    std::lock_guard lock(self->mutex_);
    if (self->cancelled_) return false;
    self->answer_ = std::move(answer);
  }
  const auto ticket =
      self->builder_.Build(std::move(request), caller,
                           [self](Result<BuildAnswer> result) { self->End(std::move(result)); });
  bool left = false;
  {
    std::lock_guard lock(self->mutex_);
    self->ticket_ = ticket;
    left = self->cancelled_;
  }
  if (left) self->builder_.Leave(ticket);
  return true;
}

bool PendingBuild::Cancel() {
  Answer answer;
  BuildCoordinator::Ticket ticket = 0;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    answer = std::exchange(answer_, nullptr);
    ticket = ticket_;
  }
  if (answer == nullptr) return false;
  // Without a ticket Build has not returned yet, and Start will leave.
  if (ticket != 0) builder_.Leave(ticket);
  return true;
}

void PendingBuild::End(Result<BuildAnswer> result) {
  Answer answer;
  {
    std::lock_guard lock(mutex_);
    answer = std::exchange(answer_, nullptr);
  }
  if (answer != nullptr) answer(std::move(result));
}

}  // namespace cccl_cache::daemon
