// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <deque>
#include <mutex>
#include <unordered_map>

namespace cccl_cached {

/// Who waits for its turn to read a message.
class GatedReader {
 public:
  virtual void StartReading() = 0;

 protected:
  ~GatedReader() = default;
};

/// Bounds how many messages are being received at one time, before a byte of them is in memory:
/// gRPC collects a whole message before it hands it over, and a client can send all but its last
/// byte. Every uid always has a few turns of its own, so that nobody can keep the others out.
/// Thread-safe.
class ReadGate {
 public:
  struct Limits {
    size_t always = 2;  ///< a uid may read this many, whatever others do
    size_t per_uid = 32;
    size_t in_all = 128;
  };

  explicit ReadGate(Limits limits) : limits_(limits) {}

  /// Calls StartReading now, or later on another thread, always without a lock held. Each Enter is
  /// ended by one Leave after StartReading was called, or by a Withdraw that returns true; a reader
  /// must live until then.
  void Enter(uid_t uid, GatedReader& reader);
  void Leave(uid_t uid);
  /// Leaves the line. True if the reader stood in it: StartReading will not be called. False: it
  /// was called, or is being called.
  [[nodiscard]] bool Withdraw(uid_t uid, GatedReader& reader);

 private:
  struct User {
    size_t reading = 0;
    std::deque<GatedReader*> waiting;
  };
  [[nodiscard]] bool MayRead(const User& user) const;

  const Limits limits_;
  std::mutex mutex_;
  size_t reading_ = 0;                     // guarded by mutex_
  std::unordered_map<uid_t, User> users_;  // guarded by mutex_; nobody who neither reads nor waits
};

}  // namespace cccl_cached
