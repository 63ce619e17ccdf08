// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "daemon/core/model/statistics.h"
#include "daemon/remote/deposit_chunks.h"
#include "daemon/remote/redis/redis_servers.h"

namespace cccl_cache::daemon {

/// Fetches deposits that the servers have in chunks: one deposit at a time, so that one is in
/// memory, and one chunk after the other. For the first link's thread only.
class ChunkFetches {
 public:
  using Clock = RedisServers::Clock;
  /// A deposit that is wanted.
  struct Fetch {
    ChunkList list;
    std::string place;             ///< the key whose server has the chunks
    std::string name;              ///< of the list; those of the chunks end with their numbers
    Clock::time_point deadline;    ///< of the whole deposit, with the wait for others
    std::function<bool()> wanted;  ///< whether anybody still waits for it
    /// Gets the contents; none if a chunk is missing, damaged or late. May call Add.
    std::function<void(std::optional<std::string>)> done;
  };

  /// `patience` is the longest wait for one chunk. `statistics` must outlive the object, and `link`
  /// must be destroyed before it.
  ChunkFetches(RedisServers& link, std::chrono::milliseconds patience, Statistics& statistics)
      : link_(link), patience_(patience), statistics_(statistics) {}

  void Add(Fetch fetch);

 private:
  struct Running {
    Fetch fetch;
    std::string contents = {};
    size_t next = 0;  ///< number of the next chunk
  };

  /// Starts the next fetch, unless one runs.
  void Start();
  void AskForChunk();
  void TakeChunk(const RedisReply* reply);
  void End();

  RedisServers& link_;
  const std::chrono::milliseconds patience_;
  Statistics& statistics_;
  std::optional<Running> running_;
  std::deque<Fetch> waiting_;
  uint64_t asked_ = 0;  ///< number of the last request, which tells late replies
};

}  // namespace cccl_cache::daemon
