// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/snapshots.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A deposit that goes into a snapshot.
struct ChosenDeposit {
  cccl_cache::Digest identity;
  DepositRecord record;
};

/// What the filter names of what the caller deposited, ascending by identity, each once. Never
/// another's, whoever asks: nobody runs another's bytes without asking for them.
[[nodiscard]] std::vector<ChosenDeposit> ChooseDeposits(const Deposits& deposits, const Peer& peer,
                                                        const SnapshotFilter& filter);

}  // namespace cccl_cache::daemon
