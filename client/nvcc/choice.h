// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "base/files/user_cache.h"
#include "cccl_cache/client.h"
#include "client/interpose/report.h"
#include "client/nvcc/command.h"
#include "client/nvcc/kept_step.h"

namespace cccl_cache::nvcc {

/// A kept result whose closure holds.
struct Hit {
  Deposit deposit;  ///< has the memory that `kept` refers to
  KeptStep kept;
};

/// The lease to make one more result.
struct Vacancy {
  uint8_t number;  ///< of the result's key
  Lease lease;
};

/// The results depend on the names of their fresh directories.
struct NeedsOwnName {};

/// All results are for other states of the headers, and another user made the oldest of them.
struct Full {};

using Choice = std::variant<Hit, Vacancy, NeedsOwnName, Full, interpose::Reason>;

/// Asks the daemon for the results that are kept of a run, which are for other states of the
/// headers, in the order of their numbers. Returns the first one whose closure holds. If there is
/// none, returns the lease to make one, in the place of the oldest if there are too many. Returns
/// the reason if the daemon gives neither. All waits for equal runs of other processes end at
/// `until`. The results are those of the group, or of this user if `group` is empty.
[[nodiscard]] Choice Choose(Client* client, const Command& command, const std::string& group,
                            const UserCache& facts, std::chrono::steady_clock::time_point until);

}  // namespace cccl_cache::nvcc
