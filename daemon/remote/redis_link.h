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

/// One connection to a Redis, shared by all builds: commands are sent without waiting for the
/// answers to earlier ones. A thread of the link's own does all that may take time, and also runs
/// timers. While there is no connection, the link tries again, ever more rarely. Thread-safe; no
/// call waits.
class RedisLink {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    RedisAddress address;
    std::string password;                  ///< empty: none
    std::string ca_file;                   ///< for TLS; empty: what the system trusts
    uint64_t max_reply_bytes = 9 << 20;    ///< a larger reply ends the connection before it is held
    uint64_t max_unsent_bytes = 64 << 20;  ///< beyond it Send() refuses
    size_t max_pending = 10'000;           ///< commands that are not answered
    std::chrono::milliseconds patience{20};           ///< a slower answer counts against the Redis
    std::chrono::milliseconds connect_timeout{1000};  ///< until the first PING is answered
    /// Before the next attempt: doubled with each, and somewhat random, so that nodes don't come
    /// all at once.
    std::chrono::milliseconds first_backoff{100}, last_backoff{30'000};
    /// For the operator: called on the link's thread once when the connection fails, with the
    /// reason and the way out.
    std::function<void(std::string_view)> report;
    std::function<void(std::string_view)> report_return;  ///< called once when it is back
    std::string resolv_conf = "/etc/resolv.conf";         ///< names the servers of DNS
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

  /// Is called once on the link's thread: with the reply, or with null if the connection was lost
  /// first. The reply lives only during the call, which may move it away. The call may use the
  /// link, but not delete it.
  using Then = std::function<void(RedisReply*)>;

  /// Begins to connect.
  explicit RedisLink(Options options);
  ~RedisLink() { Stop(); }
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  /// Ends the link's thread, after null was given to all commands that are not answered. Does not
  /// wait for the Redis. Send() refuses from then on.
  void Stop();

  /// Sends a command. Returns false, and never calls `then`, if there is no connection or a bound
  /// is reached.
  bool Send(const std::vector<std::string_view>& command, Then then);
  /// Runs `work` on the link's thread at this time, at once if it has passed, whether there is a
  /// connection or not. Dropped when the link ends.
  void At(Clock::time_point time, std::function<void()> work);
  /// To be called when an answer has taken longer than the patience; does nothing if the oldest
  /// command of this link has not. Answers that are slow at the same time count as one. After
  /// several in a row the connection ends as if it had failed.
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

  /// Makes the link's thread look at what is below.
  void Wake() REQUIRES(mutex_);

  const Options options_;
  const std::string url_;
  const FileDescriptor wake_;  ///< an eventfd

  mutable Mutex mutex_;
  std::vector<std::string> outgoing_
      GUARDED_BY(mutex_);                           ///< commands that the thread has not taken yet
  std::deque<Pending> pending_ GUARDED_BY(mutex_);  ///< in the order of the commands
  std::multimap<Clock::time_point, std::function<void()>> timers_ GUARDED_BY(mutex_);
  std::string broken_ GUARDED_BY(mutex_);  ///< why the connection is to be closed; empty: it is not
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
