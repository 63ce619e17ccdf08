// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The address of a Redis or Valkey server, and its user. A plain value without secrets.
struct RedisAddress {
  std::string host;
  uint16_t port = 6379;
  std::string path;  ///< path of a Unix socket; `host` is then empty
  bool tls = false;
  std::string user;
  int database = 0;
};

/// Parses "redis://[user@]host[:port][/db]", "rediss://..." (TLS) or "unix://[user@]/path[?db=N]".
/// A URL with a password is refused, because other people can read command lines and
/// configurations.
[[nodiscard]] Result<RedisAddress> ParseRedisUrl(std::string_view url);
/// Parses a URL with several hosts: "rediss://a,b:7000,c". The keys are spread over the hosts.
[[nodiscard]] Result<std::vector<RedisAddress>> ParseRedisUrls(std::string_view url);
/// Returns whether the text can be a host: a name, or an IP address without brackets.
[[nodiscard]] bool IsRedisHost(std::string_view text);

/// Returns the address as a URL.
[[nodiscard]] std::string ToUrl(const RedisAddress& address);

}  // namespace cccl_cache::daemon
