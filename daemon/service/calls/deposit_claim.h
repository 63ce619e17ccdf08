// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "daemon/service/wire/acquire_messages.h"

namespace cccl_cache::daemon {

/// What this peer asks for, in the scope that it may ask for. kDenied: it names a group that the
/// kernel does not say it is in.
[[nodiscard]] Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer);

}  // namespace cccl_cache::daemon
