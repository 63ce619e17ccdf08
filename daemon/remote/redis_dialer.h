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
#include "daemon/remote/event_handles.h"
#include "daemon/remote/redis_address.h"

namespace cccl_cache::daemon {

/// Opens sockets to a Redis server without waiting: resolves its name, and tries each of its
/// addresses. Lives on the thread of its event base. libevent answers a cancelled DNS query only
/// when the base runs, so after Stop() run the base once before it and the dialer are destroyed.
class RedisDialer {
 public:
  /// Gets a connected socket, or the error with the remedy. May stop or start the dialer.
  using Then = std::function<void(Result<FileDescriptor>)>;

  RedisDialer(event_base* base, const RedisAddress& address, const std::string& resolv_conf,
              Then then);
  RedisDialer(const RedisDialer&) = delete;
  RedisDialer& operator=(const RedisDialer&) = delete;

  /// Calls `then` once, possibly before it returns, unless the dialer is stopped first.
  void Start();
  void Stop();
  /// Like Stop, after a timeout. Returns the step that took too long, for a message.
  std::string GiveUp();

 private:
  struct Address {
    sockaddr_storage bytes = {};
    socklen_t size = 0;
  };
  /// A DNS query. Freed by libevent's answer, which may come after Stop().
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
  int last_error_ = 0;  ///< an errno
  FileDescriptor socket_;
  Event connecting_;  ///< waits for the socket to be connected
};

}  // namespace cccl_cache::daemon
