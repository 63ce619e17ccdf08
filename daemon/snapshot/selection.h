// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/core/model/tier.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A build for a snapshot, and a user who got an answer for it.
struct ChosenBuild {
  uid_t uid = 0;
  AnsweredBuild build;
};

/// Returns the builds that match the filter and that the caller may have, ascending by key, each
/// key once. kDenied: the caller may not use this filter. kInvalidRequest: the filter is malformed.
/// Reads the disk.
[[nodiscard]] Result<std::vector<ChosenBuild>> ChooseBuilds(AnsweredBuilds& answered,
                                                            const Peer& peer,
                                                            const SnapshotFilter& filter);

/// A deposit that goes into a snapshot.
struct ChosenDeposit {
  Digest identity;
  DepositRecord record;
};

/// Returns the caller's deposits that match the filter, ascending by identity, each once. Never
/// returns another user's deposits, even to an administrator: a user must not run another user's
/// bytes unknowingly.
[[nodiscard]] std::vector<ChosenDeposit> ChooseDeposits(const Deposits& deposits, const Peer& peer,
                                                        const SnapshotFilter& filter);

}  // namespace cccl_cache::daemon
