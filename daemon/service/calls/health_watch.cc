// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/health_watch.h"

#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {

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
