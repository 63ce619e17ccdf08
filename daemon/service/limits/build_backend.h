// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/core/closure/sent_files.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/service_limits.h"
#include "daemon/core/model/statistics.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/builder.h"
#include "daemon/service/limits/deposit_readers.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/limits/uploads.h"

namespace cccl_cache::daemon {

/// What the services of all users share. Everything in it is thread-safe and outlives every
/// call.
struct BuildBackend {
  const ServiceLimits& limits;
  Builder& builder;
  Statistics& statistics;
  Budget& budget;
  ReadGate& read_gate;
  ReadGate& answer_gate;  ///< for answers about files, which come when the caller likes
  Uploads& uploads;
  Deposits& deposits;
  DepositReaders& deposit_readers;
  std::shared_ptr<SentContents> sent_contents;  ///< who waits for a file may outlive the services
};

}  // namespace cccl_cache::daemon
