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

/// A call that waits for its turn to read a message.
class GatedReader {
 public:
  virtual void StartReading() = 0;
  /// Called when the reader's turn has lasted too long. Must end the call on another thread. May
  /// call the gate only after it has returned.
  virtual void GiveUp() = 0;

 protected:
  ~GatedReader() = default;
};

/// Bounds the number of messages in reception, before a byte of them is in memory. gRPC collects a
/// whole message before it passes it on, and a client may send all but the last byte. If a user
/// gets no turn for that reason, the calls whose turns have lasted too long are ended. Thread-safe.
class ReadGate {
 public:
  using Clock = std::chrono::steady_clock;
  /// The longest turn while other readers wait. A whole message takes milliseconds.
  static constexpr std::chrono::seconds kPatience{10};

  explicit ReadGate(const Allowance& allowance) : allowance_(allowance) {}

  /// Calls StartReading now, or later on another thread, always without a lock held. Each Enter
  /// must be followed by one Leave after StartReading was called, or by a Withdraw that returns
  /// true. The reader must live until then.
  void Enter(Account account, GatedReader& reader);
  void Leave(Account account, GatedReader& reader);
  /// Removes the reader from the queue. Returns true if it was queued: StartReading will not be
  /// called. Returns false if StartReading was called or is being called.
  [[nodiscard]] bool Withdraw(Account account, GatedReader& reader);
  /// Must be called every few seconds.
  void EndSlow(Clock::time_point now = Clock::now());

 private:
  struct User {
    std::map<GatedReader*, Clock::time_point> reading;  ///< with the start of each turn
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
