// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "daemon/core/model/compiler.h"

namespace cccl_cache::daemon {

/// Maximum number of elements in each list of a request (options, name expressions, environment,
/// inputs, modules), and of an artifact's lowered names.
inline constexpr size_t kMaxListed = 4'096;

/// Concurrent calls on one connection. Clients get it as HTTP/2's MAX_CONCURRENT_STREAMS.
inline constexpr int kStreamsPerConnection = 1'024;

/// Limits of clients' use. Info reports those that a client can reach, and
/// docs/internals/protocol.md lists them.
struct ServiceLimits {
  uint64_t message_bytes = 16ull << 20;  ///< one unary request or reply
  uint64_t source_bytes = 64ull << 20;   ///< all texts and binaries of one request
  size_t headers = 10'000;
  /// Elements in each list: options, name expressions, environment, inputs, modules.
  size_t options = kMaxListed;
  uint64_t option_bytes = 64ull << 10;  ///< one option, name expression or environment value
  uint64_t name_bytes = 4'096;          ///< one program, header, input or directory name
  uint64_t upload_bytes_per_uid = 1ull << 30;
  uint64_t upload_bytes = 4ull << 30;  ///< for all uids together
  std::chrono::seconds upload_kept{600};
  size_t connections_per_uid = 1'024;
  size_t connections = 8'192;
  size_t calls_per_uid = 4'096;
  size_t calls = 16'384;
  /// Bytes of requests in reception or in progress, and of replies in transfer.
  uint64_t bytes_in_flight_per_uid = 1ull << 30;
  uint64_t bytes_in_flight = 4ull << 30;
  /// Maximum silence of a client with unanswered questions about files.
  std::chrono::milliseconds answer_patience{30'000};
  size_t idle_peer_servers = 64;  ///< servers kept for users without a connection
  /// A server polls each of its connections before it waits. With 64 connections this costs a hit
  /// some 10 us, with 1,000 some 300 us.
  size_t connections_per_server = 64;
  /// How long a user's second and further servers stay without connections.
  std::chrono::milliseconds idle_server_kept{60'000};

  /// Returns the number of messages that each of the two gates (ReadGate) admits at one time. Each
  /// message may have the maximum size, so together they take at most a quarter of the bytes in
  /// flight.
  [[nodiscard]] size_t gate_turns() const {
    return std::max<size_t>(bytes_in_flight / 8 / message_bytes, 1);
  }
};

/// Limits of builds.
struct BuildLimits {
  CompileLimits compile;
  size_t slots = 1;           ///< concurrent compiles
  uint64_t memory_bytes = 0;  ///< expected memory of all running compiles; 0: no limit
  size_t queued_per_uid = 1024;
  size_t queued = 8192;
  /// Longest read of the daemon's own disk. A longer read counts as a miss.
  std::chrono::milliseconds disk_patience{5'000};
  std::chrono::milliseconds remember_failures{60'000};
  std::chrono::seconds quarantine{600};
  uint64_t shadow_check_every = 1'000;   ///< one in this many hits is compiled again; 0 for none
  uint64_t preamble_bytes = 1ull << 30;  ///< precompiled headers in memory; 0: none are made
};

/// Limits of deposits and leases.
struct DepositLimits {
  uint64_t bytes_per_uid = 1ull << 30;  ///< of each account
  uint64_t bytes = 4ull << 30;
  std::chrono::milliseconds heartbeat{5'000};        ///< how often the holder of a lease renews it
  std::chrono::milliseconds longest_lease{600'000};  ///< while others wait for it
};

}  // namespace cccl_cache::daemon
