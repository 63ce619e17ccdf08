// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/remote/redis_address.h"
#include "daemon/remote/redis_replies.h"

namespace cccl_cache::daemon {

/// One connection to a Redis server, shared by all builds: commands are sent without waiting for
/// earlier answers. A thread of its own does all blocking work and runs timers. Without a
/// connection it retries with growing pauses. Thread-safe; no call waits.
class RedisLink {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    RedisAddress address;
    std::string password;                  ///< empty: none
    std::string ca_file;                   ///< for TLS; empty: the system's certificates
    uint64_t max_reply_bytes = 9 << 20;    ///< a larger reply ends the connection before its bytes
                                           ///< are kept
    uint64_t max_unsent_bytes = 64 << 20;  ///< above it Send() fails
    size_t max_pending = 10'000;           ///< unanswered commands; above it Send() fails
    std::chrono::milliseconds patience{20};           ///< a slower answer counts as slow, see
                                                      ///< NoteSlow
    std::chrono::milliseconds connect_timeout{1000};  ///< until the answer to the first PING
    /// Pauses before a new attempt: doubled each time, and somewhat random, so that nodes do not
    /// reconnect all at once.
    std::chrono::milliseconds first_backoff{100}, last_backoff{30'000};
    /// Called once on the link's thread when the connection fails, with the reason and the remedy,
    /// for the operator.
    std::function<void(std::string_view)> report;
    std::function<void(std::string_view)> report_return;  ///< called once when the connection is
                                                          ///< back
    std::string resolv_conf = "/etc/resolv.conf";         ///< lists the DNS servers
  };

  struct State {
    bool connected = false;
    std::string address;
    std::string
        problem;  ///< why there is no connection, with the way out; empty while there is one
    uint64_t connects = 0;
    uint64_t unsent_bytes = 0;
    size_t pending = 0;
  };

  /// Called once on the link's thread: with the reply, or with null if the connection was lost
  /// first. The reply is valid during the call, which may move it. The call may use the link, but
  /// not delete it.
  using Then = std::function<void(RedisReply*)>;

  /// Starts to connect.
  explicit RedisLink(Options options);
  ~RedisLink() { Stop(); }
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  /// Ends the link's thread, after all unanswered commands got null. Does not wait for the server.
  /// Later calls of Send() fail.
  void Stop();

  /// Sends a command. Returns false, and never calls `then`, if there is no connection or a limit
  /// is reached.
  bool Send(const std::vector<std::string_view>& command, Then then);
  /// Runs `work` on the link's thread at this time, or at once if it has passed, with or without a
  /// connection. Dropped when the link ends.
  void At(Clock::time_point time, std::function<void()> work);
  /// To be called when an answer has taken longer than `patience`; ignored if the oldest command is
  /// younger. Slow answers at the same time count once. After several in a row the connection ends
  /// as after a failure.
  void NoteSlow();

  [[nodiscard]] const RedisAddress& address() const { return options_.address; }
  [[nodiscard]] bool connected() const { return connected_.load(std::memory_order_relaxed); }
  [[nodiscard]] State state() const;

 private:
  class Loop;

  struct Pending {
    Then then;
    Clock::time_point sent = Clock::now();
  };

  /// Makes the link's thread check the members below.
  void Wake() REQUIRES(mutex_);

  const Options options_;
  const std::string url_;
  const FileDescriptor wake_;  ///< an eventfd

  mutable Mutex mutex_;
  std::vector<std::string> outgoing_
      GUARDED_BY(mutex_);                           ///< commands that the thread has not sent yet
  std::deque<Pending> pending_ GUARDED_BY(mutex_);  ///< unanswered commands, in order
  std::multimap<Clock::time_point, std::function<void()>> timers_ GUARDED_BY(mutex_);
  std::string broken_ GUARDED_BY(mutex_);  ///< why the connection must be closed; empty: it need
                                           ///< not be
  std::string problem_ GUARDED_BY(mutex_);
  uint64_t connects_ GUARDED_BY(mutex_) = 0;
  int slow_in_a_row_ GUARDED_BY(mutex_) = 0;
  Clock::time_point last_slow_ GUARDED_BY(mutex_);
  uint64_t unsent_bytes_ GUARDED_BY(mutex_) = 0;
  bool woken_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> connected_ = false;  ///< changed with mutex_ held

  std::thread thread_;
};

}  // namespace cccl_cache::daemon
