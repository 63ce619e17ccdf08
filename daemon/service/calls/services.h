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

/// Returns the peer that makes a call. The credentials are those of the server's user. The pid is
/// that of the process that opened the call's connection.
using PeerOf = std::function<Peer(const CallStream&)>;

/// The service cccl_cache.v1.Build for one peer. Thread-safe. `backend` must outlive the service.
class BuildService final : public RawService {
 public:
  BuildService(BuildBackend& backend, PeerOf peer_of);
};

/// The service cccl_cache.v1.Deposit for one peer. The uid and the groups of the peer determine
/// which deposits it sees. Thread-safe.
class DepositService final : public RawService {
 public:
  /// `backend` and `peer` must outlive the service.
  DepositService(BuildBackend& backend, const Peer& peer);
};

/// The service cccl_cache.v1.Snapshot for one peer. Thread-safe.
class SnapshotService final : public RawService {
 public:
  /// `backend` and `sources` must outlive the service.
  SnapshotService(BuildBackend& backend, const Peer& peer, const SnapshotSources& sources);
};

/// The service cccl_cache.v1.Info for one peer. All peers get the same answer. It includes the
/// daemon's present problem, if there is one. Thread-safe.
class InfoService final : public RawService {
 public:
  /// `backend`, `reply` and `health` must outlive the service.
  InfoService(BuildBackend& backend, Account account, const cccl_cache::v1::InfoReply& reply,
              const Health& health);
};

/// The service grpc.health.v1 for one peer. gRPC's own health service can't be used, because it
/// neither limits nor counts its requests. Thread-safe.
class HealthService final : public RawService {
 public:
  /// `backend` and `health` must outlive the service.
  HealthService(BuildBackend& backend, Account account, Health& health);
};

}  // namespace cccl_cache::daemon
