// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/remote/redis_link.h"

namespace cccl_cache::daemon {

/// One Redis server, or several over which the keys are spread by rendezvous hashing: nodes that
/// list the same servers, in any order, find each key at the same server
/// (docs/internals/decisions/0053). Thread-safe; no call waits.
class RedisServers {
 public:
  using Clock = RedisLink::Clock;
  /// Like RedisLink::Then, always on the first link's thread. May be dropped once the destructor
  /// has begun.
  using Then = RedisLink::Then;

  struct State {
    std::string address;  ///< of the first server
    /// The problem of the first server that is not connected, with the remedy; empty: all are
    /// connected.
    std::string problem;
    size_t servers = 0;
    size_t connected = 0;  ///< number of connected servers
    uint64_t connects = 0;
    uint64_t unsent_bytes = 0;
    size_t pending = 0;
  };

  /// Starts to connect to the link's server and to the others, with the link's options.
  RedisServers(const RedisLink::Options& link, const std::vector<RedisAddress>& others);
  ~RedisServers();
  RedisServers(const RedisServers&) = delete;
  RedisServers& operator=(const RedisServers&) = delete;

  /// Sends a command to the server of this key. Returns false, and never calls `then`, if that
  /// server is not connected or a limit is reached.
  bool Send(std::string_view key, const std::vector<std::string_view>& command, Then then);
  /// Sends a command that concerns no key to any connected server. See Send().
  bool SendToAny(const std::vector<std::string_view>& command, Then then);
  /// Runs `work` on the first link's thread: see RedisLink::At.
  void At(Clock::time_point time, std::function<void()> work);
  /// See RedisLink::NoteSlow.
  void NoteSlow();

  /// Returns whether any server is connected.
  [[nodiscard]] bool connected() const;
  /// Returns whether commands for different keys run in the order of their Send().
  [[nodiscard]] bool keeps_order() const { return links_.size() == 1; }
  [[nodiscard]] State state() const;

 private:
  [[nodiscard]] RedisLink& LinkOf(std::string_view key) const;
  bool SendBy(RedisLink& link, const std::vector<std::string_view>& command, Then then);

  const std::vector<std::unique_ptr<RedisLink>> links_;
};

}  // namespace cccl_cache::daemon
