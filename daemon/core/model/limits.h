// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cccl_cache::daemon {

/// How long each list of a request may be: options, name expressions, environment, inputs, modules.
/// No artifact has more lowered names.
inline constexpr size_t kMaxListed = 4'096;

/// Calls of one connection at a time, as HTTP/2's MAX_CONCURRENT_STREAMS tells clients.
inline constexpr int kStreamsPerConnection = 1'024;

/// What clients may cost. Those that a client can meet are reported by Info and listed in
/// docs/internals/protocol.md.
struct ServiceLimits {
  uint64_t message_bytes = 16ull << 20;  ///< one unary request or reply
  uint64_t source_bytes = 64ull << 20;   ///< all texts and binaries of one request together
  size_t headers = 10'000;
  /// Of each list: options, name expressions, environment, inputs, modules.
  size_t options = kMaxListed;
  uint64_t option_bytes = 64ull << 10;  ///< one option, name expression or environment value
  uint64_t name_bytes = 4'096;          ///< one program, header, input or directory name
  uint64_t upload_bytes_per_uid = 1ull << 30;
  uint64_t upload_bytes = 4ull << 30;  ///< of all uids together
  std::chrono::seconds upload_kept{600};
  size_t connections_per_uid = 1'024;
  size_t connections = 8'192;
  size_t calls_per_uid = 4'096;
  size_t calls = 16'384;
  /// Bytes of requests that are being received, read or built, and of replies that are being sent.
  uint64_t bytes_in_flight_per_uid = 1ull << 30;
  uint64_t bytes_in_flight = 4ull << 30;
  /// How long a client that is to send its files may say nothing.
  std::chrono::milliseconds answer_patience{30'000};
  size_t idle_peer_servers = 64;  ///< kept for users who have no connection now
  /// A server looks at each of its connections before it waits: with 64 of them this takes a hit
  /// some 10 us, with 1,000 some 300 us.
  size_t connections_per_server = 64;
  /// How long a user's second and further servers stay without connections.
  std::chrono::milliseconds idle_server_kept{60'000};

  /// How many messages each of the two gates (ReadGate) lets be received at one time. Any of them
  /// may be as large as a message can be, and together they take a quarter of the bytes in flight.
  [[nodiscard]] size_t gate_turns() const {
    return std::max<size_t>(bytes_in_flight / 8 / message_bytes, 1);
  }
};

}  // namespace cccl_cache::daemon
