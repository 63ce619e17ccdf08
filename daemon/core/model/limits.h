// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "daemon/core/model/compiler.h"
#include "proto/lease_limit.h"

namespace cccl_cache::daemon {

/// Maximum number of elements in each list of a request: options, name expressions, environment,
/// inputs, modules. Also of the lowered names of an artifact.
inline constexpr size_t kMaxListed = 4'096;

/// Maximum number of concurrent calls on one connection. It is sent to clients as the HTTP/2
/// setting MAX_CONCURRENT_STREAMS.
inline constexpr int kStreamsPerConnection = 1'024;

/// Limits for clients. The call Info reports the limits that a client can reach: see
/// docs/internals/protocol.md.
struct ServiceLimits {
  uint64_t message_bytes = 16ull << 20;  ///< size of one request or reply that is not streamed
  uint64_t source_bytes = 64ull << 20;   ///< total size of all texts and binaries in one request
  uint64_t header_set_bytes = 256ull << 20;  ///< size of one header set
  size_t headers = 10'000;
  /// Elements in each list: options, name expressions, environment, inputs, modules.
  size_t options = kMaxListed;
  uint64_t option_bytes = 64ull << 10;  ///< size of one option, name expression or environment
                                        ///< value
  uint64_t name_bytes = 4'096;          ///< size of one name of a program, header, input or
                                        ///< directory
  uint64_t upload_bytes_per_uid = 1ull << 30;
  uint64_t upload_bytes = 4ull << 30;  ///< total of all users
  std::chrono::seconds upload_kept{600};
  size_t connections_per_uid = 1'024;
  size_t connections = 8'192;
  size_t calls_per_uid = 4'096;
  size_t calls = 16'384;
  /// Bytes of the requests that are being received or processed, and of the replies that are being
  /// sent.
  uint64_t bytes_in_flight_per_uid = 1ull << 30;
  uint64_t bytes_in_flight = 4ull << 30;
  /// How long the daemon waits for a client's answers to questions about its files.
  std::chrono::milliseconds answer_patience{30'000};
  size_t idle_peer_servers = 64;  ///< servers kept for users without a connection
  /// Maximum number of connections of one server. A server polls each of its connections before it
  /// waits. With 64 connections, this delays a hit by about 10 us; with 1,000, by about 300 us.
  size_t connections_per_server = 64;
  /// A user's second and further servers are removed after this time without a connection.
  std::chrono::milliseconds idle_server_kept{60'000};

  /// Returns how many messages each of the two ReadGates lets in at once. Even if all of these
  /// messages have the maximum size, they take at most a quarter of `bytes_in_flight`.
  [[nodiscard]] size_t gate_turns() const {
    return std::max<size_t>(bytes_in_flight / 8 / message_bytes, 1);
  }
};

struct BuildLimits {
  CompileLimits compile;
  size_t slots = 1;               ///< number of compiles that may run at once
  uint64_t memory_bytes = 0;      ///< expected memory of all running compiles; 0: no limit
  uint64_t reservable_bytes = 0;  ///< the same together with reservations; 0: no limit
  size_t queued_per_uid = 1024;
  size_t queued = 8192;
  /// Maximum time for one read of the daemon's own disk. A read that takes longer counts as a miss.
  std::chrono::milliseconds disk_patience{5'000};
  std::chrono::milliseconds remember_failures{60'000};
  std::chrono::seconds quarantine{600};
  uint64_t shadow_check_every = 1'000;   ///< one in so many hits is compiled again for
                                         ///< verification; 0 for none
  uint64_t preamble_bytes = 1ull << 30;  ///< precompiled headers in memory; 0: none are made
};

struct DepositLimits {
  uint64_t bytes_per_uid = 1ull << 30;  ///< for each account
  uint64_t bytes = 4ull << 30;
  std::chrono::milliseconds heartbeat{5'000};  ///< how often the holder of a lease must renew
                                               ///< it
  std::chrono::milliseconds longest_lease = kLeaseLimit;  ///< how long a lease may be held while
                                                          ///< others wait for it
};

}  // namespace cccl_cache::daemon
