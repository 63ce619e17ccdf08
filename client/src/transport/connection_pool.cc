// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/connection_pool.h"

#include <utility>

namespace cccl_cache {

std::unique_ptr<Connection> ConnectionPool::Take() {
  for (std::atomic<Connection*>& slot : idle_) {
    std::unique_ptr<Connection> connection(slot.exchange(nullptr, std::memory_order_acq_rel));
    if (connection != nullptr && connection->Usable()) return connection;
  }
  return nullptr;
}

void ConnectionPool::Give(std::unique_ptr<Connection> connection) {
  for (std::atomic<Connection*>& slot : idle_) {
    Connection* expected = nullptr;
    if (slot.compare_exchange_strong(expected, connection.get(), std::memory_order_acq_rel)) {
      static_cast<void>(connection.release());
      return;
    }
  }
}

void ConnectionPool::Clear() {
  for (std::atomic<Connection*>& slot : idle_) {
    std::unique_ptr<Connection> connection(slot.exchange(nullptr, std::memory_order_acq_rel));
  }
}

}  // namespace cccl_cache
