// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/mutex.h"
#include "daemon/service/calls/stream_call.h"
#include "grpc/health/v1/health.pb.h"

namespace cccl_cache::daemon {

/// The daemon's own services.
inline constexpr std::string_view kOwnServices[] = {"cccl_cache.v1.Build", "cccl_cache.v1.Deposit",
                                                    "cccl_cache.v1.Snapshot", "cccl_cache.v1.Admin",
                                                    "cccl_cache.v1.Info"};

/// The service name by which clients ask for readiness: whether the daemon serves and has no
/// problem.
inline constexpr std::string_view kReadyService = "ready";

/// The state of the daemon: whether it serves and is ready. Notifies watchers of changes.
/// Thread-safe; must outlive its watchers.
class Health {
 public:
  /// Receives notifications. Health calls the methods with its lock held, so they must not call
  /// Health.
  class Watcher {
   public:
    virtual void Notify(bool serving, bool ready) = 0;
    /// Called when the daemon stops. No further notifications follow.
    virtual void Stop() = 0;

   protected:
    ~Watcher() = default;
  };

  /// Returns whether the name is that of a service with a state: one of kOwnServices,
  /// kReadyService, or "", which stands for all services together.
  [[nodiscard]] static bool Knows(std::string_view service);

  [[nodiscard]] bool serving() const;
  [[nodiscard]] bool ready() const;
  /// Returns why the daemon is not ready although it serves. Empty if it is ready.
  [[nodiscard]] std::string problem() const;
  void SetServing(bool serving);
  /// Sets the reason why the daemon is not ready. An empty text means that there is no problem any
  /// more.
  void SetProblem(std::string problem);
  /// Calls Stop() of all watchers, and of watchers that are added later.
  void Stop();

  /// Notifies the watcher of the present state at once, and then of each change. The watcher must
  /// be removed before it is destroyed.
  void Add(Watcher& watcher);
  /// The watcher is not called after this returns. Does nothing for an unknown watcher.
  void Remove(Watcher& watcher);

 private:
  [[nodiscard]] bool IsReady() const REQUIRES(mutex_) { return serving_ && problem_.empty(); }
  void NotifyAll() REQUIRES(mutex_);

  mutable Mutex mutex_;
  bool serving_ GUARDED_BY(mutex_) = true;
  std::string problem_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::unordered_set<Watcher*> watchers_ GUARDED_BY(mutex_);
};

/// One call of grpc.health.v1.Health.Watch. Sends the present state, then each new state. Skips a
/// state that changes again before the previous state is sent.
class HealthWatch final : public StreamCall, private Health::Watcher {
 public:
  HealthWatch(BuildBackend& backend, Account account, CallStream& stream, Health& health);
  ~HealthWatch() override { health_.Remove(*this); }

 private:
  using Serving = grpc::health::v1::HealthCheckResponse::ServingStatus;

  void OnMessage(grpc::ByteBuffer& request) override;
  void OnSpace() override { SendState(); }
  void Notify(bool serving, bool ready) override;
  void Stop() override;
  void SendState();

  Health& health_;
  // The members below are used only in events.
  bool known_ = false;     ///< whether the service has a state
  bool of_ready_ = false;  ///< whether the service is kReadyService
  Serving state_{};        ///< the present state
  std::optional<Serving> sent_;
};

}  // namespace cccl_cache::daemon
