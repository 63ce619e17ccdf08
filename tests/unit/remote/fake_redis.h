// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/mutex.h"
#include "daemon/remote/redis/redis_servers.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon {

/// One connection that a FakeRedis accepted. Its calls wait up to a minute.
class FakeConnection {
 public:
  explicit FakeConnection(int fd);

  /// Returns the next command, its parts separated by spaces; "closed" at the end of the
  /// connection.
  std::string Next();
  void Send(std::string_view bytes) const;
  /// Answers the PING at the start of a connection.
  void Greet();

 private:
  std::string Line();
  bool Fill();

  FileDescriptor fd_;
  std::string received_;
};

/// Listens like a Redis, and sends the test's replies.
class FakeRedis {
 public:
  FakeRedis();  ///< on a Unix socket

  [[nodiscard]] RedisAddress address() const { return address_; }
  [[nodiscard]] FakeConnection Accept() const;

  /// Listens on a free port of the loopback.
  [[nodiscard]] static FakeRedis OnPort();

 private:
  explicit FakeRedis(const std::string& host);

  TemporaryDirectory directory_;
  RedisAddress address_;
  FileDescriptor listener_;
};

/// A key of each of two servers.
struct KeysOfTwo {
  std::string here, there;
};
/// Returns such a pair. Only one of the servers may be connected; `here` is its connection.
[[nodiscard]] KeysOfTwo FindKeys(RedisServers& servers, FakeConnection& here);

/// Collects reports or answers. Thread-safe.
class Said {
 public:
  void Add(std::string text);
  [[nodiscard]] std::vector<std::string> all() const;
  /// Waits until there are this many, and returns all.
  [[nodiscard]] std::vector<std::string> Await(size_t count);
  /// Returns a callback that adds the reply as Shown() shows it.
  [[nodiscard]] RedisLink::Then Adding();

 private:
  mutable Mutex mutex_;
  CondVar added_;
  std::vector<std::string> said_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
