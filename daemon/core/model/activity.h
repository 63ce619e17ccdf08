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

// What the daemon does now, as far as one user may see it. An administrator sees everything.
// Another user sees the totals, and only those flights (compiles) that builds of this user wait
// for. Builds of other users in them are left out.

/// The values are sent over the wire: they never change, and equal those in admin.proto.
enum class FlightState : uint8_t {
  kQueued = 1,   ///< waits for a slot or for memory
  kRunning = 2,  ///< the compile runs
  kLeased = 3,   ///< a client makes a deposit and holds the lease for it
};

/// A build or deposit that is being made, with its waiting callers.
struct FlightActivity {
  Digest key;
  std::string kind;       ///< as in NameOf(BuildKind) for a build; the namespace for a deposit
  std::string toolchain;  ///< as in ToolchainLabel; empty for a deposit
  std::string program;    ///< as in ShownName for the first of the waiting callers; empty for a
                          ///< deposit
  FlightState state = FlightState::kQueued;
  std::chrono::microseconds age{0};      ///< since the first of the waiting callers came
  std::chrono::microseconds running{0};  ///< how long the compile has run, or the lease has been
                                         ///< held; 0 if it has not begun
  size_t waiters = 0;                    ///< number of waiting callers, including the holder of a
                                         ///< lease
  uid_t uid = 0;                         ///< user of the first waiting caller
  bool of_asker = false;                 ///< whether the process that asks is one of the waiting
                                         ///< callers
};

/// The numbers of queued and running compiles of one account.
struct AccountActivity {
  Account account;
  size_t queued = 0;
  size_t running = 0;
};

/// The memory that running compiles are expected to need.
struct MemoryActivity {
  uint64_t expected_bytes = 0;
  uint64_t limit_bytes = 0;  ///< 0 for no limit
  size_t waiting = 0;  ///< compiles and reservations that wait for memory, idle compiles included
  size_t reservations = 0;  ///< held reservations of memory for clients' tools
};

/// Numbers and list of the waiting and running builds.
struct BuildActivity {
  size_t slots = 0;
  size_t running = 0;  ///< more than the slots if relief slots are in use or items are parked
  size_t queued = 0;   ///< flights that wait for a slot or for memory
  size_t waiting = 0;  ///< callers that wait for flights
  std::vector<FlightActivity> flights;
  size_t more_flights = 0;  ///< number of flights beyond kMaxListedFlights
  std::vector<AccountActivity> accounts;
  size_t preambles = 0;
  uint64_t preamble_bytes = 0;
  MemoryActivity memory;
};

struct ZygoteActivity {
  std::string toolchain;         ///< version of the toolchain
  uint64_t resident_bytes = 0;   ///< 0 if unknown
  uint64_t jobs = 0;             ///< workers forked so far
  std::optional<Account> apart;  ///< the only account whose jobs it runs; none if it runs the jobs
                                 ///< of all
};

/// Maximum number of flights, or of leases, in one list.
inline constexpr size_t kMaxListedFlights = 256;

}  // namespace cccl_cache::daemon
