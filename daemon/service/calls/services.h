// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cccl_cache/v1/info.pb.h"
#include "daemon/core/model/account.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/health.h"
#include "daemon/service/calls/snapshot_calls.h"
#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// Returns the caller of a call. The credentials are those of the server. The pid is that of the
/// call's connection.
using PeerOf = std::function<Peer(const CallStream&)>;

/// cccl_cache.v1.Build for one peer. Thread-safe; the backend must outlive it.
class BuildService final : public RawService {
 public:
  BuildService(BuildBackend& backend, PeerOf peer_of);
};

/// cccl_cache.v1.Deposit for one peer, whose uid and groups determine the deposits that it sees.
/// Thread-safe.
class DepositService final : public RawService {
 public:
  /// Both must outlive the service.
  DepositService(BuildBackend& backend, const Peer& peer);
};

/// cccl_cache.v1.Snapshot for one peer. Thread-safe.
class SnapshotService final : public RawService {
 public:
  /// Both must outlive the service.
  SnapshotService(BuildBackend& backend, const Peer& peer, const SnapshotSources& sources);
};

/// cccl_cache.v1.Info for one peer. All peers get the same answer, with the daemon's present
/// problem, if it has one. Thread-safe.
class InfoService final : public RawService {
 public:
  /// Backend and reply must outlive the service.
  InfoService(BuildBackend& backend, Account account, const cccl_cache::v1::InfoReply& reply,
              const Health& health);
};

/// grpc.health.v1 for one peer. gRPC's own health service neither bounds nor counts its requests.
/// Thread-safe.
class HealthService final : public RawService {
 public:
  /// Both must outlive the service.
  HealthService(BuildBackend& backend, Account account, Health& health);
};

}  // namespace cccl_cache::daemon
