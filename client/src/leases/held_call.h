// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>

#include "base/files/verified_descriptor.h"
#include "base/owner_process.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"

namespace cccl_cache {

/// A call that continues while the program does other work. It owns the connection of the call, and
/// a thread that sends and receives over it, so that the daemon finds the connection alive. A
/// forked child has no part in the call. Only alive() is thread-safe.
class HeldCall {
 public:
  /// Is called on the thread, and returns the time until its next call.
  using Beat = std::function<std::chrono::milliseconds()>;

  /// `first`: the time until the first call of `beat`.
  HeldCall(OpenCall open, std::chrono::milliseconds first, Beat beat);
  /// Ends the thread, and closes the connection.
  ~HeldCall();
  HeldCall(const HeldCall&) = delete;
  HeldCall& operator=(const HeldCall&) = delete;

  /// Returns whether this process made the object.
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }
  /// Returns whether the call continues. If the daemon or the connection has ended, this process
  /// may not know it yet.
  [[nodiscard]] bool alive() const { return !ended_ && owned(); }
  /// Ends the thread. Must be called before the owner uses the call or the connection itself.
  void StopThread();
  [[nodiscard]] Call& call() const { return *open_.call; }
  [[nodiscard]] Connection& connection() const { return *open_.connection; }

 private:
  static void* RunThread(void* self);
  void KeepAlive();

  const OpenCall open_;
  const std::chrono::milliseconds first_;
  const Beat beat_;
  const OwnerProcess owner_;
  // A pair of sockets, because VerifiedDescriptor can't tell one eventfd from another.
  VerifiedDescriptor wake_;   ///< shut down to wake the thread
  VerifiedDescriptor woken_;  ///< the other end, which the thread polls
  pthread_t thread_{};
  bool has_thread_ = false;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};  ///< whether the daemon has ended the call
};

}  // namespace cccl_cache
