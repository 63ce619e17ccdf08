// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cccl_cache/v1/admin.pb.h"
#include "daemon/core/coordinator/breakdown.h"
#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/coordinator/recent_failures.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/hourly_counts.h"
#include "daemon/core/model/releases.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/core/model/upkeep.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/services.h"
#include "daemon/service/transport/raw_call.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// The objects that produce the responses of Admin. All are thread-safe and outlive the service.
struct AdminSources {
  Toolchains& toolchains;
  Releases& releases;
  Upkeep& upkeep;
  BlockingPool& threads;  ///< threads for calls that wait for a disk
  Statistics& statistics;
  HourlyCounts& hours;
  BuildBreakdown& breakdown;
  const RecentFailures& failures;
  const Deposits& deposits;
  std::function<TierSize()> stored;
  uint64_t store_limit = 0;  ///< in bytes
  std::function<BuildGauges()> building;
  std::function<BuildActivity(const Peer&)> activity;
  std::function<std::vector<ZygoteActivity>()> zygotes;
  std::function<std::vector<UsersBuild>(const Peer&, size_t)> dearest;
  std::function<std::optional<ClusterGauges>()> cluster;  ///< returns none if nothing is shared
  std::function<std::optional<ShelfGauges>()> shelves;    ///< returns none without shelves
  std::function<uint64_t()> clients;                      ///< returns the present number of
                                                          ///< connections
  std::chrono::steady_clock::time_point started;
  std::string version;
};

/// The service cccl_cache.v1.Admin for one peer. Every user may ask for totals, toolchains, the
/// user's own activity, and the reasons of the user's own misses, and may add a release of a
/// compiler. Only administrators may see the activity of other users, reset the totals, evict
/// entries and verify entries. Thread-safe.
class AdminService final : public RawService {
 public:
  /// `backend` and `sources` must outlive the service. `peer_of` returns the process that makes a
  /// call. The pid in `peer` can't be used for that: it is the pid of the peer's first connection.
  AdminService(BuildBackend& backend, const Peer& peer, PeerOf peer_of,
               const AdminSources& sources);
};

}  // namespace cccl_cache::daemon
