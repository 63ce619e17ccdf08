// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/health.h"

#include <algorithm>
#include <utility>

#include "daemon/service/wire/messages.h"

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

namespace v1 = grpc::health::v1;

void HealthWatch::OnRequest(grpc::ByteBuffer& bytes) {
  v1::HealthCheckRequest request;
  if (auto decoded = DecodeSmall(bytes, request); !decoded) {
    Fail(decoded.error());
    return;
  }
  {
    std::lock_guard lock(mutex_);
    known_ = Health::Knows(request.service());
    of_ready_ = request.service() == kReadyService;
  }
  health_.Add(*this);
}

void HealthWatch::Notify(bool serving, bool ready) {
  std::lock_guard lock(mutex_);
  if (!known_) {
    wanted_ = v1::HealthCheckResponse::SERVICE_UNKNOWN;
  } else {
    const bool well = of_ready_ ? ready : serving;
    wanted_ = well ? v1::HealthCheckResponse::SERVING : v1::HealthCheckResponse::NOT_SERVING;
  }
  Advance();
}

void HealthWatch::Stop() {
  std::lock_guard lock(mutex_);
  leaving_ = true;
  Advance();
}

void HealthWatch::OnLeft() { Stop(); }

void HealthWatch::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok) leaving_ = true;
  Advance();
}

void HealthWatch::Advance() {
  if (!wanted_ || ended_) return;
  if (writing_) return;
  if (leaving_) {
    ended_ = true;
    Finish({grpc::StatusCode::UNAVAILABLE, "the daemon stops, or the caller left"});
    return;
  }
  if (wanted_ == sent_) return;
  writing_ = true;
  sent_ = wanted_;
  v1::HealthCheckResponse response;
  response.set_status(*wanted_);
  message_ = Encode(response);
  StartWrite(&message_);
}

}  // namespace cccl_cache::daemon
