// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "client/src/transport/connection.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/scripted_server.h"

using cccl_cache::Connection;
using cccl_cache::ConnectionPool;
using cccl_cache::daemon::TemporaryDirectory;

TEST_CASE("a connection is handed to one taker at a time") {
  const TemporaryDirectory directory;
  const ScriptedServer silent(directory / "socket",
                              [](int fd, int) { ScriptedServer::ReadToEnd(fd); });
  ConnectionPool pool;
  for (int i = 0; i < 3; ++i) pool.Give(*Connection::Open(directory / "socket"));
  std::atomic<int> taken{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto connection = pool.Take();
        if (connection == nullptr) continue;
        const int now = ++taken;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        --taken;
        pool.Give(std::move(connection));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(most >= 1);
  CHECK(most <= 3);
  std::vector<std::unique_ptr<Connection>> left;
  while (auto connection = pool.Take()) left.push_back(std::move(connection));
  CHECK(left.size() == 3);
}

TEST_CASE("connections beyond the pool's room, and those that the other end closed, are dropped") {
  const TemporaryDirectory directory;
  const ScriptedServer closing(directory / "socket", [](int, int) {});
  ConnectionPool pool;
  for (int i = 0; i < 40; ++i) pool.Give(*Connection::Open(directory / "socket"));
  while (closing.connections() < 40) std::this_thread::yield();
  // The last one may be counted just before it is closed.
  while (pool.Take() != nullptr) std::this_thread::yield();
  CHECK(pool.Take() == nullptr);
}
