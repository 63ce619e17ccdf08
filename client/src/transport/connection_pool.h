// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "client/src/transport/connection.h"

namespace cccl_cache {

/// Idle connections of one client. Thread-safe and without a lock, so that a child forked at any
/// moment can use it; there the connections of its parent are dropped.
class ConnectionPool {
 public:
  ConnectionPool() = default;
  ~ConnectionPool() { Clear(); }
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  /// A connection that was usable a moment ago, or null.
  std::unique_ptr<Connection> Take();
  /// Keeps it for the next call if there is room.
  void Give(std::unique_ptr<Connection> connection);
  void Clear();

 private:
  std::array<std::atomic<Connection*>, 16> idle_{};
};

}  // namespace cccl_cache
