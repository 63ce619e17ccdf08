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

/// A build that goes into a snapshot, and a user who got an answer for it.
struct ChosenBuild {
  uid_t uid = 0;
  AnsweredBuild build;
};

/// Returns the builds that match the filter and that the caller may read. They are in ascending
/// order of their keys, without duplicates. Reads the disk. kDenied: the caller may not use this
/// filter. kInvalidRequest: the filter is malformed.
[[nodiscard]] Result<std::vector<ChosenBuild>> ChooseBuilds(AnsweredBuilds& answered,
                                                            const Peer& peer,
                                                            const SnapshotFilter& filter);

/// A deposit that goes into a snapshot.
struct ChosenDeposit {
  Digest identity;
  DepositRecord record;
};

/// Returns the caller's own deposits that match the filter, in ascending order of their identities
/// and without duplicates. Even an administrator does not get deposits of other users, because a
/// user must not run code of another user unknowingly.
[[nodiscard]] std::vector<ChosenDeposit> ChooseDeposits(const Deposits& deposits, const Peer& peer,
                                                        const SnapshotFilter& filter);

}  // namespace cccl_cache::daemon
