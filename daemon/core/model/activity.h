// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/model/account.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

// The daemon's present activity, as far as one peer may see it. An administrator sees everything.
// Any other peer sees the totals, and the flights for which it waits, without their other waiters.

/// Sent over the wire: values never change, and are those in admin.proto.
enum class FlightState : uint8_t {
  kQueued = 1,   ///< waits for a slot or for memory
  kRunning = 2,  ///< is compiled
  kLeased = 3,   ///< a client makes a deposit
};

/// A build or deposit in the making.
struct FlightActivity {
  Digest key;
  std::string kind;       ///< of a build; the namespace of a deposit
  std::string toolchain;  ///< as in statistics; empty for a deposit
  FlightState state = FlightState::kQueued;
  std::chrono::microseconds age{0};      ///< since the arrival of the first waiter
  std::chrono::microseconds running{0};  ///< of the compile or the lease
  size_t waiters = 0;                    ///< includes the holder of a lease
  uid_t uid = 0;                         ///< of the first waiter
  bool of_asker = false;                 ///< whether the asking process is a waiter
};

/// Compiles of one account.
struct AccountActivity {
  Account account;
  size_t queued = 0;
  size_t running = 0;
};

/// The expected memory of running compiles.
struct MemoryActivity {
  uint64_t expected_bytes = 0;
  uint64_t limit_bytes = 0;  ///< 0 for no limit
  size_t waiting = 0;        ///< compiles that wait for memory, idle compiles included
};

/// Waiting and running builds.
struct BuildActivity {
  size_t slots = 0;
  size_t running = 0;  ///< more than the slots if relief slots are in use or items are parked
  size_t queued = 0;   ///< flights that wait for a slot or for memory
  size_t waiting = 0;  ///< callers
  std::vector<FlightActivity> flights;
  size_t more_flights = 0;  ///< number of flights that are not listed
  std::vector<AccountActivity> accounts;
  size_t preambles = 0;
  uint64_t preamble_bytes = 0;
  MemoryActivity memory;
};

struct ZygoteActivity {
  std::string toolchain;         ///< version
  uint64_t resident_bytes = 0;   ///< 0 if unknown
  uint64_t jobs = 0;             ///< workers forked so far
  std::optional<Account> apart;  ///< the only account that it serves; none for all
};

/// Maximum number of listed flights, and of listed leases.
inline constexpr size_t kMaxListedFlights = 256;

}  // namespace cccl_cache::daemon
