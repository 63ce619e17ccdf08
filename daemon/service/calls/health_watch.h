// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>

#include "daemon/service/calls/health.h"
#include "daemon/service/calls/small_call.h"
#include "grpc/health/v1/health.pb.h"

namespace cccl_cache::daemon {

/// One call of grpc.health.v1.Health.Watch: tells the state of this moment, then each other one
/// that holds until the one before is sent.
class HealthWatch final : public SmallCall, private Health::Watcher {
 public:
  HealthWatch(BuildBackend& backend, Account account, CallStream& stream, Health& health)
      : SmallCall(backend, account, stream), health_(health) {}
  ~HealthWatch() override { health_.Remove(*this); }

  void OnWriteDone(bool ok) override;

 private:
  using Serving = grpc::health::v1::HealthCheckResponse::ServingStatus;

  void OnRequest(grpc::ByteBuffer& request) override;
  void OnLeft() override;
  void Notify(bool serving, bool ready) override;
  void Stop() override;
  /// Sends what is new, or ends the call; mutex_ is held, which gRPC's reactions do not mind: they
  /// come from other threads.
  void Advance();

  Health& health_;
  std::mutex mutex_;
  bool known_ = false;             // guarded by mutex_; whether the service has a state
  bool of_ready_ = false;          // guarded by mutex_; whether it is kReadyService
  std::optional<Serving> wanted_;  // guarded by mutex_; nothing before the request came
  std::optional<Serving> sent_;    // guarded by mutex_
  bool writing_ = false;           // guarded by mutex_
  bool leaving_ = false;           // guarded by mutex_
  bool ended_ = false;             // guarded by mutex_
  grpc::ByteBuffer message_;       // guarded by mutex_
};

}  // namespace cccl_cache::daemon
