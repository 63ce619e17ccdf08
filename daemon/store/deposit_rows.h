// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/store/database.h"
#include "daemon/store/write_queue.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Contents and record of each deposit are rows of their own, changed together.
[[nodiscard]] std::optional<DatabaseError> WriteDeposits(Database& database,
                                                         const WriteQueue::DepositChanges& changes);

/// What is found of a deposit's contents: null if they do not verify.
[[nodiscard]] Database::Found ReadDeposit(Database& database, const cccl_cache::Digest& key,
                                          DepositContents& contents);

/// All records that verify, and the keys of those that don't.
struct StoredDeposits {
  std::vector<DepositRecord> records;
  std::vector<cccl_cache::Digest> broken;
};
[[nodiscard]] std::optional<DatabaseError> ReadDepositRecords(Database& database,
                                                              StoredDeposits& stored);

}  // namespace cccl_cache::daemon
