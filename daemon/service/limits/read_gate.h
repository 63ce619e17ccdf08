// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// Who waits for its turn to read a message.
class GatedReader {
 public:
  virtual void StartReading() = 0;
  /// It has had its turn for too long: its call is to be ended, from another thread. Calls the gate
  /// only later.
  virtual void GiveUp() = 0;

 protected:
  ~GatedReader() = default;
};

/// Bounds how many messages are being received at one time, before a byte of them is in memory:
/// gRPC collects a whole message before it hands it over, and a client can send all but its last
/// byte. Where that leaves a user without a turn, the calls that have had theirs for long are
/// ended. Thread-safe.
class ReadGate {
 public:
  using Clock = std::chrono::steady_clock;
  /// What a turn may take if others wait for one: a whole message takes milliseconds.
  static constexpr std::chrono::seconds kPatience{10};

  explicit ReadGate(const Allowance& allowance) : allowance_(allowance) {}

  /// Calls StartReading now, or later on another thread, always without a lock held. Each Enter is
  /// ended by one Leave after StartReading was called, or by a Withdraw that returns true; a reader
  /// must live until then.
  void Enter(Account account, GatedReader& reader);
  void Leave(Account account, GatedReader& reader);
  /// Leaves the line. True if the reader stood in it: StartReading will not be called. False: it
  /// was called, or is being called.
  [[nodiscard]] bool Withdraw(Account account, GatedReader& reader);
  /// To be called every few seconds.
  void EndSlow(Clock::time_point now = Clock::now());

 private:
  struct User {
    std::map<GatedReader*, Clock::time_point> reading;  ///< since when
    std::deque<GatedReader*> waiting;
  };
  [[nodiscard]] bool MayRead(Account account, const User& user) const;
  void Admit(Account account, User& user, std::vector<GatedReader*>* admitted);

  const Allowance allowance_;
  std::mutex mutex_;
  size_t reading_ = 0;             // guarded by mutex_
  std::map<Account, User> users_;  // guarded by mutex_; those that read or wait
};

}  // namespace cccl_cache::daemon
