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
#include "daemon/remote/redis/redis_address.h"
#include "daemon/remote/redis/redis_replies.h"

namespace cccl_cache::daemon {

/// One connection to a Redis server, which all builds share. A command is sent without a wait for
/// the replies to earlier commands. The link has its own thread, which does all blocking work and
/// runs timers. If there is no connection, the thread tries to connect, with growing pauses.
/// Thread-safe; no call waits.
class RedisLink {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    RedisAddress address;
    std::string password;                  ///< empty: no password
    std::string ca_file;                   ///< certificates trusted for TLS; empty: those of the
                                           ///< system
    uint64_t max_reply_bytes = 9 << 20;    ///< a larger reply ends the connection before its bytes
                                           ///< are kept
    uint64_t max_unsent_bytes = 64 << 20;  ///< limit of bytes in the queue; above it Send() fails
    size_t max_pending = 10'000;           ///< limit of unanswered commands; above it Send() fails
    std::chrono::milliseconds patience{20};           ///< a slower answer counts as slow, see
                                                      ///< NoteSlow
    std::chrono::milliseconds connect_timeout{1000};  ///< for one attempt, up to the reply to PING
    /// The first and the longest pause before a new attempt. Each pause is twice as long as the
    /// last, and somewhat random, so that the nodes do not reconnect all at once.
    std::chrono::milliseconds first_backoff{100}, last_backoff{30'000};
    /// Called on the link's thread, once for each loss of the connection. The text is for the
    /// operator: the reason and the remedy.
    std::function<void(std::string_view)> report;
    std::function<void(std::string_view)> report_return;  ///< called once when the connection is
                                                          ///< back
    std::string resolv_conf = "/etc/resolv.conf";         ///< file that lists the DNS servers
  };

  struct State {
    bool connected = false;
    std::string address;
    std::string
        problem;  ///< why there is no connection, and the remedy; empty while there is a connection
    uint64_t connects = 0;
    uint64_t unsent_bytes = 0;
    size_t pending = 0;
  };

  /// Called once on the link's thread. The argument is the reply, or null if the connection was
  /// lost first. The reply is valid during the call, which may move from it. The call may use the
  /// link, but must not destroy it.
  using Then = std::function<void(RedisReply*)>;

  /// Starts to connect. Returns at once.
  explicit RedisLink(Options options);
  ~RedisLink() { Stop(); }
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  /// Ends the link's thread. Before that, the callbacks of all unanswered commands are called with
  /// null. Does not wait for the server. Later calls of Send() fail.
  void Stop();

  /// Sends a command. Returns false, and never calls `then`, if there is no connection or a limit
  /// is reached.
  bool Send(const std::vector<std::string_view>& command, Then then);
  /// Runs `work` on the link's thread at this time, or at once if the time has passed. Needs no
  /// connection. If the link ends first, `work` is destroyed and not called.
  void At(Clock::time_point time, std::function<void()> work);
  /// The caller must call this when a reply has taken longer than `patience`. The call is ignored
  /// if the oldest unanswered command is younger than that. Several replies that are slow at the
  /// same time count as one. After several slow replies in a row the connection is closed, as after
  /// a failure.
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

  /// Wakes the link's thread, so that it reads the members below.
  void Wake() REQUIRES(mutex_);

  const Options options_;
  const std::string url_;
  const FileDescriptor wake_;  ///< an eventfd

  mutable Mutex mutex_;
  std::vector<std::string> outgoing_
      GUARDED_BY(mutex_);                           ///< commands that the thread has not sent yet
  std::deque<Pending> pending_ GUARDED_BY(mutex_);  ///< unanswered commands, in order
  std::multimap<Clock::time_point, std::function<void()>> timers_ GUARDED_BY(mutex_);
  std::string broken_ GUARDED_BY(mutex_);  ///< why the connection must be closed; empty: it stays
                                           ///< open
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
