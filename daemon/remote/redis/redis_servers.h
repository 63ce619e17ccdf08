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

#include "daemon/remote/redis/redis_link.h"

namespace cccl_cache::daemon {

/// One Redis server, or several servers over which the keys are spread by rendezvous hashing. All
/// nodes that list the same servers, in any order, find a key at the same server
/// (docs/internals/decisions/0053). Thread-safe; no call waits.
class RedisServers {
 public:
  using Clock = RedisLink::Clock;
  /// Like RedisLink::Then, but always called on the first link's thread. Once the destructor has
  /// begun, a callback may be destroyed without a call.
  using Then = RedisLink::Then;

  struct State {
    std::string address;  ///< URL of the first server
    /// The problem of the first server in the list that is not connected, with the remedy. Empty if
    /// all servers are connected.
    std::string problem;
    size_t servers = 0;
    size_t connected = 0;  ///< number of connected servers
    uint64_t connects = 0;
    uint64_t unsent_bytes = 0;
    size_t pending = 0;
  };

  /// Starts to connect to the server in `link` and to the servers in `others`. All links have the
  /// options in `link`.
  RedisServers(const RedisLink::Options& link, const std::vector<RedisAddress>& others);
  ~RedisServers();
  RedisServers(const RedisServers&) = delete;
  RedisServers& operator=(const RedisServers&) = delete;

  /// Sends a command to the server of this key. Returns false, and never calls `then`, if that
  /// server is not connected or a limit is reached.
  bool Send(std::string_view key, const std::vector<std::string_view>& command, Then then);
  /// Sends a command without a key to any connected server. Returns false as Send() does.
  bool SendToAny(const std::vector<std::string_view>& command, Then then);
  /// Runs `work` on the first link's thread. See RedisLink::At.
  void At(Clock::time_point time, std::function<void()> work);
  /// See RedisLink::NoteSlow.
  void NoteSlow();

  /// Returns whether any server is connected.
  [[nodiscard]] bool connected() const;
  /// Returns whether commands for different keys are executed in the order of the calls of Send().
  [[nodiscard]] bool keeps_order() const { return links_.size() == 1; }
  [[nodiscard]] State state() const;

 private:
  [[nodiscard]] RedisLink& LinkOf(std::string_view key) const;
  bool SendBy(RedisLink& link, const std::vector<std::string_view>& command, Then then);

  const std::vector<std::unique_ptr<RedisLink>> links_;
};

}  // namespace cccl_cache::daemon
