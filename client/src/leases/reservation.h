// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/src/leases/held_call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/messages.h"

namespace cccl_cache {

/// Runs of one kind need about the same memory. The daemon remembers it for this user.
struct MemoryKind {
  std::string tool;  ///< for runs of unknown kinds; 1 to 128 bytes
  std::string kind;  ///< 1 to 128 bytes
};

/// Memory that the daemon reserves for a tool that this process starts. The destructor frees it.
class Reservation {
 public:
  /// The wait for memory has no limit of its own: it ends with the runs of others, or with the
  /// daemon.
  static constexpr std::chrono::hours kLongestWait{24};

  /// Waits until the memory is free, for at most this time. Returns null if the daemon reserves
  /// none until then: it is gone, too old, overloaded or does not answer. The caller then starts
  /// the tool without a reservation.
  [[nodiscard]] static std::unique_ptr<Reservation> Await(
      const std::string& socket, MemoryKind kind, std::chrono::milliseconds most = kLongestWait);

  /// Tells the daemon how much memory the tool has needed.
  void Report(uint64_t peak_bytes);

 private:
  Reservation(MemoryKind kind, const std::string& socket)
      : kind_(std::move(kind)), channel_(socket, KeepAlive::kMax) {}

  const MemoryKind kind_;
  Channel channel_;
  SingleMessage reply_;
  std::optional<HeldCall> call_;
};

}  // namespace cccl_cache
