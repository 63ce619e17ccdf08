// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/core/closure/sent_files.h"
#include "daemon/core/coordinator/builder.h"
#include "daemon/core/coordinator/fair_queue.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/statistics.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/limits/uploads.h"

namespace cccl_cache::daemon {

/// The objects that the services of all users share. All are thread-safe and outlive every call.
struct BuildBackend {
  const ServiceLimits& limits;
  Builder& builder;
  FairQueue& queue;  ///< in which reservations of memory wait
  Statistics& statistics;
  Budget& budget;
  ReadGate& read_gate;
  ReadGate& answer_gate;  ///< for callers' answers about files, which may arrive slowly
  Uploads& uploads;
  Deposits& deposits;
  DepositReaders& deposit_readers;
  std::shared_ptr<SentContents>
      sent_contents;  ///< shared, because a call that waits for a file may outlive the services
};

}  // namespace cccl_cache::daemon
