// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/services.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cccl_cache/v1/deposit.pb.h"
#include "daemon/service/calls/acquire_call.h"
#include "daemon/service/calls/build_call.h"
#include "daemon/service/calls/health.h"
#include "daemon/service/calls/reserve_call.h"
#include "daemon/service/calls/snapshot_calls.h"
#include "daemon/service/calls/unary_call.h"
#include "daemon/service/calls/upload_call.h"
#include "daemon/service/wire/acquire_messages.h"
#include "grpc/health/v1/health.pb.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

/// Maximum number of deposits in one reply of a listing.
constexpr size_t kPage = 1000;

uint64_t Seconds(std::chrono::sys_seconds time) {
  return static_cast<uint64_t>(time.time_since_epoch().count());
}

void Describe(const DepositRecord& from, v1::DepositDescription& to) {
  to.set_key(from.key.Hex());
  to.set_namespace_(from.name_space);
  if (from.scope.kind == DepositScope::Kind::kGroup) {
    to.mutable_group()->set_gid(from.scope.id);
  }
  to.set_size(from.size);
  to.set_made_at(Seconds(from.made));
  to.set_used_at(Seconds(from.used));
}

v1::ListDepositsReply Describe(std::vector<DepositRecord> records) {
  v1::ListDepositsReply reply;
  reply.set_more(records.size() > kPage);
  if (reply.more()) records.pop_back();
  for (const DepositRecord& record : records) Describe(record, *reply.add_deposits());
  return reply;
}

Status CheckOwner(uid_t uid) {
  if (uid != kOverflowUid) return Ok{};
  return Error{ErrorCode::kDenied,
               "uid 65534 stands for many users, so nothing is deposited for it"};
}

/// Returns the keys of the deposits that the peer may ask for.
Result<std::vector<Digest>> KeysOf(const v1::TouchDepositsRequest& request, const Peer& peer) {
  std::vector<Digest> keys;
  for (const v1::DepositKey& message : request.keys()) {
    const auto ask = AskOf(v1::DepositKey(message));
    if (!ask) return ask.error();
    const auto claim = ClaimOf(*ask, peer);
    if (!claim) return claim.error();
    keys.push_back(claim->key);
  }
  return keys;
}

Status CheckKey(const char* field, const std::string& key) {
  if (Digest::FromHex(key)) return Ok{};
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("{}: a key has 64 hexadecimal digits", field)};
}

namespace health_v1 = grpc::health::v1;

void Check(const Health& health, const health_v1::HealthCheckRequest& request,
           const UnaryCall::Reply& answer) {
  health_v1::HealthCheckResponse reply;
  if (!Health::Knows(request.service())) {
    answer({grpc::StatusCode::NOT_FOUND, "no such service"}, reply);
    return;
  }
  const bool well = request.service() == kReadyService ? health.ready() : health.serving();
  reply.set_status(well ? health_v1::HealthCheckResponse::SERVING
                        : health_v1::HealthCheckResponse::NOT_SERVING);
  answer(grpc::Status::OK, reply);
}

}  // namespace

BuildService::BuildService(BuildBackend& backend, PeerOf peer_of) {
  const auto serve = [&](const char* method, BuildCall::Form form) {
    Serve(method, [&backend, peer_of, form](CallStream& stream) {
      new BuildCall(backend, peer_of(stream), stream, form);
    });
  };
  serve("/cccl_cache.v1.Build/Build", BuildCall::Form::kOneMessage);
  serve("/cccl_cache.v1.Build/BuildInChunks", BuildCall::Form::kChunks);
  serve("/cccl_cache.v1.Build/BuildWithFiles", BuildCall::Form::kWithFiles);
  serve("/cccl_cache.v1.Build/BuildMany", BuildCall::Form::kMany);
  Serve("/cccl_cache.v1.Build/Upload", [&backend, peer_of](CallStream& stream) {
    new UploadCall(backend, peer_of(stream), stream);
  });
}

DepositService::DepositService(BuildBackend& backend, const Peer& peer) {
  const uid_t uid = peer.uid;
  const Account account = peer.account();
  Serve("/cccl_cache.v1.Deposit/Acquire",
        [&backend, &peer](CallStream& stream) { new AcquireCall(backend, peer, stream); });
  Serve("/cccl_cache.v1.Deposit/List",
        UnaryCall::Maker<v1::ListDepositsRequest>(
            backend, account,
            [&backend, uid](const auto& request, const UnaryCall::Reply& answer) {
              const auto after = Digest::FromHex(request.after());
              answer(grpc::Status::OK, Describe(backend.deposits.List(uid, after, kPage + 1)));
            },
            [uid](const v1::ListDepositsRequest& request) -> Status {
              if (auto owner = CheckOwner(uid); !owner) return owner;
              return request.after().empty() ? Status(Ok{}) : CheckKey("after", request.after());
            }));
  Serve("/cccl_cache.v1.Deposit/Remove",
        UnaryCall::Maker<v1::RemoveDepositRequest>(
            backend, account,
            [&backend, uid](const auto& request, const UnaryCall::Reply& answer) {
              v1::RemoveDepositReply reply;
              reply.set_removed(backend.deposits.Remove(*Digest::FromHex(request.key()), uid));
              answer(grpc::Status::OK, reply);
            },
            [uid](const v1::RemoveDepositRequest& request) -> Status {
              if (auto owner = CheckOwner(uid); !owner) return owner;
              return CheckKey("key", request.key());
            }));
  Serve("/cccl_cache.v1.Deposit/Touch",
        UnaryCall::Maker<v1::TouchDepositsRequest>(
            backend, account,
            [&backend, &peer](const auto& request, const UnaryCall::Reply& answer) {
              const auto keys = KeysOf(request, peer);
              for (const Digest& key : *keys) backend.deposits.Touch(key);
              answer(grpc::Status::OK, v1::TouchDepositsReply());
            },
            [&peer](const v1::TouchDepositsRequest& request) -> Status {
              if (auto owner = CheckOwner(peer.uid); !owner) return owner;
              const auto keys = KeysOf(request, peer);
              return keys ? Status(Ok{}) : Status(keys.error());
            }));
  Serve("/cccl_cache.v1.Deposit/Reserve",
        [&backend, &peer](CallStream& stream) { new ReserveCall(backend, peer, stream); });
  Serve("/cccl_cache.v1.Deposit/ReportPeak",
        UnaryCall::Maker<v1::ReportPeakRequest>(
            backend, account,
            [&backend, &peer](const auto& request, const UnaryCall::Reply& answer) {
              backend.queue.NotePeak(*MemoryKindOf(request.kind(), peer), request.peak_bytes());
              answer(grpc::Status::OK, v1::ReportPeakReply());
            },
            [&peer](const v1::ReportPeakRequest& request) -> Status {
              const auto kind = MemoryKindOf(request.kind(), peer);
              return kind ? Status(Ok{}) : Status(kind.error());
            }));
}

SnapshotService::SnapshotService(BuildBackend& backend, const Peer& peer,
                                 const SnapshotSources& sources) {
  Serve("/cccl_cache.v1.Snapshot/Create",
        BlockingCall::Maker(backend, sources.threads, peer, [&sources](BlockingCall& call) {
          return CreateSnapshot(call, sources.snapshots);
        }));
  Serve("/cccl_cache.v1.Snapshot/Insert",
        BlockingCall::Maker(backend, sources.threads, peer, [&sources](BlockingCall& call) {
          return InsertSnapshot(call, sources.snapshots);
        }));
}

InfoService::InfoService(BuildBackend& backend, Account account, const v1::InfoReply& reply,
                         const Health& health) {
  Serve("/cccl_cache.v1.Info/Get",
        UnaryCall::Maker<v1::InfoRequest>(
            backend, account,
            [&reply, &health](const auto& /*request*/, const UnaryCall::Reply& answer) {
              v1::InfoReply now = reply;
              now.set_problem(health.problem());
              answer(grpc::Status::OK, now);
            }));
}

HealthService::HealthService(BuildBackend& backend, Account account, Health& health) {
  Serve("/grpc.health.v1.Health/Check",
        UnaryCall::Maker<health_v1::HealthCheckRequest>(
            backend, account, [&health](const auto& request, const UnaryCall::Reply& answer) {
              Check(health, request, answer);
            }));
  Serve("/grpc.health.v1.Health/Watch", [&backend, account, &health](CallStream& stream) {
    new HealthWatch(backend, account, stream, health);
  });
}

}  // namespace cccl_cache::daemon
