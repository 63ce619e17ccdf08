// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/lru.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// A key of the cache: the encoded request and its hash. It does not refer to the request.
struct RequestName {
  size_t hash = 0;
  std::string bytes;
};

/// A cache of recent results of this process. It keeps only replies that the daemon marks as
/// closed, that is, replies that depend on nothing but the request and the toolchain. Because the
/// toolchain may change, an entry expires kGoodFor after the daemon was asked. If the capacity in
/// bytes is exceeded, the least recently used entries are evicted. Thread-safe. It can be used in a
/// forked child, even if a thread of the parent was using it during the fork.
class ResultCache {
 public:
  using Clock = std::chrono::steady_clock;

  struct Statistics {
    uint64_t hits = 0;
    uint64_t entries = 0;
    uint64_t bytes = 0;
  };

  static constexpr std::chrono::seconds kGoodFor{10};

  /// `bytes` is the capacity. 0: nothing is cached.
  explicit ResultCache(uint64_t bytes);
  ~ResultCache();
  ResultCache(const ResultCache&) = delete;
  ResultCache& operator=(const ResultCache&) = delete;

  [[nodiscard]] bool on() const { return limit_ > 0; }
  /// Returns the cached reply to the request. Null: there is none, or it has expired.
  [[nodiscard]] std::shared_ptr<const BuildReply> Find(const RequestMessage& request,
                                                       Clock::time_point now = Clock::now());
  /// Returns the key of a request for Keep. It may outlive the request.
  [[nodiscard]] RequestName NameOf(const RequestMessage& request) const;
  /// Stores the reply to a request if the reply is closed. `asked` is the time at which the daemon
  /// was asked, or earlier.
  void Keep(RequestName request, std::shared_ptr<const BuildReply> reply, Clock::time_point asked);

  [[nodiscard]] Statistics statistics() const;

 private:
  struct Kept {
    std::shared_ptr<const std::string> request;
    std::shared_ptr<const BuildReply> reply;
  };
  using Lru = PerUserLru<size_t, Kept>;
  struct Contents {
    explicit Contents(uint64_t bytes) : by_hash({.max_bytes = bytes, .lifetime = kGoodFor}) {}

    Lru by_hash;
    uint64_t hits = 0;
  };

  /// Not a mutex: if a process forks while another thread holds a mutex, the child can never lock
  /// it.
  class Lock;

  const uint64_t limit_;
  mutable std::atomic_flag held_ = ATOMIC_FLAG_INIT;
  std::unique_ptr<Contents> contents_;  // the contents are guarded by held_
};

}  // namespace cccl_cache
