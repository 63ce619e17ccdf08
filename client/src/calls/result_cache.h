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

/// Identifies a request, and may outlive it.
struct RequestName {
  size_t hash = 0;
  std::string bytes;
};

/// A cache of this process' recent results. It keeps only replies that the daemon marks as closed:
/// they depend only on the request and the toolchain. An entry expires some time after the daemon
/// was asked, because the toolchain may change. The size is limited in bytes, and the least
/// recently used entry is evicted first. Thread-safe, and safe to use in a forked child, whatever
/// the parent's threads were doing at the fork.
class ResultCache {
 public:
  using Clock = std::chrono::steady_clock;

  struct Statistics {
    uint64_t hits = 0;
    uint64_t entries = 0;
    uint64_t bytes = 0;
  };

  static constexpr std::chrono::seconds kGoodFor{10};

  /// `bytes` is the capacity; 0 disables the cache.
  explicit ResultCache(uint64_t bytes);
  ~ResultCache();
  ResultCache(const ResultCache&) = delete;
  ResultCache& operator=(const ResultCache&) = delete;

  [[nodiscard]] bool on() const { return limit_ > 0; }
  /// Returns the reply, or null if it is absent or expired.
  [[nodiscard]] std::shared_ptr<const BuildReply> Find(const RequestMessage& request,
                                                       Clock::time_point now = Clock::now());
  /// Returns the key for Keep, which may be called after the request is gone.
  [[nodiscard]] RequestName NameOf(const RequestMessage& request) const;
  /// Keeps the reply to a request that was sent at `asked` or later, if the reply is closed.
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

  /// Not a mutex: a child may be forked while another thread holds it, and must not wait for ever
  /// then.
  class Lock;

  const uint64_t limit_;
  mutable std::atomic_flag held_ = ATOMIC_FLAG_INIT;
  std::unique_ptr<Contents> contents_;  // held_ guards the object that it points to
};

}  // namespace cccl_cache
