// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// A call that may read its next message only when ReadGate calls StartReading.
class GatedReader {
 public:
  virtual void StartReading() = 0;
  /// Called with the gate's lock held if the reader has not called Leave for too long. The function
  /// must make another thread end the call, and must not call the gate itself.
  virtual void GiveUp() = 0;

 protected:
  ~GatedReader() = default;
};

/// Limits the number of messages that are being received, for each user and for all users together.
/// gRPC keeps a message in memory until it is complete, and a client may never send its last byte.
/// So a call must enter the gate before it reads a message, and leave it afterwards. If slow calls
/// keep another user from reading at all, the slow calls are ended. Thread-safe.
class ReadGate {
 public:
  using Clock = std::chrono::steady_clock;
  /// A reader may be ended after this time if another user can't read at all. The reception of a
  /// whole message takes milliseconds.
  static constexpr std::chrono::seconds kPatience{10};

  explicit ReadGate(const Allowance& allowance) : allowance_(allowance) {}

  /// Calls StartReading as soon as the limits allow it: during this call, or later on another
  /// thread. No lock is held during StartReading. Each Enter must be followed by one Leave after
  /// StartReading was called, or by a Withdraw that returns true. The reader must live until then.
  void Enter(Account account, GatedReader& reader);
  void Leave(Account account, GatedReader& reader);
  /// Removes the reader from the queue. Returns true if it was queued; then StartReading will not
  /// be called. Returns false if StartReading was called or is being called; then Leave must
  /// follow.
  [[nodiscard]] bool Withdraw(Account account, GatedReader& reader);
  /// If a user has waiting readers and none that reads, calls GiveUp of every reader that has been
  /// reading for kPatience. Must be called every few seconds.
  void EndSlow(Clock::time_point now = Clock::now());

 private:
  struct User {
    std::map<GatedReader*, Clock::time_point> reading;  ///< with the time of StartReading
    std::deque<GatedReader*> waiting;
  };
  [[nodiscard]] bool MayRead(Account account, const User& user) const REQUIRES(mutex_);
  void Admit(Account account, User& user, std::vector<GatedReader*>* admitted) REQUIRES(mutex_);

  const Allowance allowance_;
  Mutex mutex_;
  HeldInAll reading_ GUARDED_BY(mutex_);
  std::map<Account, User> users_ GUARDED_BY(mutex_);  // only users that read or wait
};

}  // namespace cccl_cache::daemon
