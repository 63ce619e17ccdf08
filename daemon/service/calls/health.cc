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
  const MutexLock lock(mutex_);
  return serving_;
}

bool Health::ready() const {
  const MutexLock lock(mutex_);
  return IsReady();
}

std::string Health::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

void Health::SetServing(bool serving) {
  const MutexLock lock(mutex_);
  serving_ = serving;
  NotifyAll();
}

void Health::SetProblem(std::string problem) {
  const MutexLock lock(mutex_);
  const bool was_ready = IsReady();
  problem_ = std::move(problem);
  if (IsReady() != was_ready) NotifyAll();
}

void Health::NotifyAll() {
  for (Watcher* watcher : watchers_) watcher->Notify(serving_, IsReady());
}

void Health::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (Watcher* watcher : watchers_) watcher->Stop();
}

void Health::Add(Watcher& watcher) {
  const MutexLock lock(mutex_);
  watchers_.insert(&watcher);
  watcher.Notify(serving_, IsReady());
  if (stopped_) watcher.Stop();
}

void Health::Remove(Watcher& watcher) {
  const MutexLock lock(mutex_);
  watchers_.erase(&watcher);
}

namespace health_v1 = grpc::health::v1;

HealthWatch::HealthWatch(BuildBackend& backend, Account account, CallStream& stream, Health& health)
    : StreamCall(backend, account, stream), health_(health) {
  Begin([this, &backend] {
    if (Hold(Resource::kCalls)) Read(backend.read_gate);
  });
}

void HealthWatch::OnMessage(grpc::ByteBuffer& bytes) {
  health_v1::HealthCheckRequest request;
  if (auto decoded = DecodeSmall(bytes, request); !decoded) return End(decoded.error());
  known_ = Health::Knows(request.service());
  of_ready_ = request.service() == kReadyService;
  health_.Add(*this);
}

// Health calls the next two functions with its lock held. The events that they post may run at
// once, so the events must not call Health.

void HealthWatch::Notify(bool serving, bool ready) {
  events()->Post([this, serving, ready] {
    if (!known_) {
      state_ = health_v1::HealthCheckResponse::SERVICE_UNKNOWN;
    } else {
      const bool well = of_ready_ ? ready : serving;
      state_ = well ? health_v1::HealthCheckResponse::SERVING
                    : health_v1::HealthCheckResponse::NOT_SERVING;
    }
    SendState();
  });
}

void HealthWatch::Stop() {
  events()->Post([this] { End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon stops")); });
}

void HealthWatch::SendState() {
  if (unsent() > 0 || state_ == sent_) return;
  sent_ = state_;
  health_v1::HealthCheckResponse response;
  response.set_status(state_);
  Send(Encode(response));
}

}  // namespace cccl_cache::daemon
