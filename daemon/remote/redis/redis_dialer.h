// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/result.h"
#include "daemon/remote/redis/event_handles.h"
#include "daemon/remote/redis/redis_address.h"

namespace cccl_cache::daemon {

/// Connects sockets to a Redis server without blocking. Resolves the server's name and tries each
/// of its addresses. Must be used on the thread of its event base. libevent answers a cancelled DNS
/// query only while the base runs. So after Stop(), the base must run once before the base and the
/// dialer are destroyed.
class RedisDialer {
 public:
  /// Receives a connected socket, or an error whose text names the remedy. May call Start() or
  /// Stop().
  using Then = std::function<void(Result<FileDescriptor>)>;

  RedisDialer(event_base* base, const RedisAddress& address, const std::string& resolv_conf,
              Then then);
  RedisDialer(const RedisDialer&) = delete;
  RedisDialer& operator=(const RedisDialer&) = delete;

  /// Starts to connect. Calls `then` once, possibly before Start() returns. If Stop() is called
  /// first, `then` is not called.
  void Start();
  void Stop();
  /// Stops an attempt that has timed out. Returns a text that says which step took too long.
  std::string GiveUp();

 private:
  struct Address {
    sockaddr_storage bytes = {};
    socklen_t size = 0;
  };
  /// A DNS query. libevent's callback deletes it, possibly after Stop().
  struct Lookup {
    RedisDialer* dialer = nullptr;
    evdns_getaddrinfo_request* request = nullptr;
  };

  void AddUnixAddress();
  void Resolve();
  void Resolved(int error, const evutil_addrinfo* found);
  void TryNext();
  bool Try(const Address& address);
  void FinishTry();
  void Fail(std::string why);

  event_base* const base_;
  const RedisAddress& address_;
  const std::string& resolv_conf_;
  const Then then_;

  Dns dns_;
  Lookup* lookup_ = nullptr;
  std::deque<Address> addresses_;  ///< addresses that were not tried yet
  size_t timeouts_ = 0;
  int last_error_ = 0;  ///< errno of the last failed attempt
  FileDescriptor socket_;
  Event connecting_;  ///< waits for the socket to be connected
};

}  // namespace cccl_cache::daemon
