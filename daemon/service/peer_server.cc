// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/peer_server.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cccl_cached {
namespace {

constexpr int kStreamsPerConnection = 1024;
constexpr int kKeepaliveMilliseconds = 60'000;
/// Room for the frame of a message that is as large as allowed.
constexpr int kMessageSlack = 64 << 10;
/// A chunk, or a reply that is all log: what is sent however small a message may be.
constexpr int kLongestPiece = 5 << 20;
/// Our own counts refuse with a clear error before gRPC's quota ends calls without one.
constexpr size_t kQuotaSlack = 256u << 20;
constexpr std::string_view kDescriptorPrefix = "fd:";

/// Those of kOwnServices and what gRPC's own clients look for.
std::vector<std::string> ListedServices() {
  std::vector<std::string> names(std::begin(kOwnServices), std::end(kOwnServices));
  names.emplace_back("grpc.health.v1.Health");
  names.emplace_back("grpc.reflection.v1alpha.ServerReflection");
  return names;
}

/// A compressed message is small on the way and huge in memory.
void RefuseCompression(grpc::ServerBuilder& builder) {
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

/// Against peers who use what no count of ours sees: HTTP/2 itself, and calls of methods that
/// do not exist.
void BoundPeer(grpc::ServerBuilder& builder, const ServiceLimits& limits) {
  grpc::ResourceQuota quota("peer");
  quota.Resize(limits.bytes_in_flight_per_uid + kQuotaSlack);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  // A fixed window: what a stream may send before its message is asked for does not grow.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // A client that was stopped in the middle of a message does not keep its turn (ReadGate) for
  // ever.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMilliseconds);
}

}  // namespace

PeerServer::PeerServer(Peer credentials, const PeerServerParts& parts)
    : credentials_(std::move(credentials)),
      build_(parts.backend,
             [this](const grpc::CallbackServerContext& context) { return PeerOf(context); }),
      deposit_(parts.backend, credentials_),
      snapshot_(parts.backend, credentials_, parts.snapshots),
      admin_(parts.backend, credentials_, parts.admin),
      info_(parts.backend, credentials_.uid, parts.info),
      health_(parts.backend, credentials_.uid, parts.health),
      reflection_(parts.backend, credentials_.uid, ListedServices()) {
  Start(parts.backend.limits);
}

PeerServer::~PeerServer() { Shutdown(std::chrono::system_clock::now()); }

void PeerServer::Start(const ServiceLimits& limits) {
  grpc::ServerBuilder builder;
  builder.RegisterService(&build_);
  builder.RegisterService(&deposit_);
  builder.RegisterService(&snapshot_);
  builder.RegisterService(&admin_);
  builder.RegisterService(&info_);
  builder.RegisterService(&health_);
  builder.RegisterService(&reflection_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.message_bytes));
  builder.SetMaxSendMessageSize(std::max(static_cast<int>(limits.message_bytes), kLongestPiece) +
                                kMessageSlack);
  RefuseCompression(builder);
  BoundPeer(builder, limits);
  server_ = builder.BuildAndStart();
}

void PeerServer::Serve(FileDescriptor socket, pid_t pid) {
  {
    std::lock_guard lock(mutex_);
    pids_[socket.get()] = pid;
  }
  grpc::AddInsecureChannelFromFd(server_.get(), socket.Release());
}

Peer PeerServer::PeerOf(const grpc::CallbackServerContext& context) const {
  Peer peer = credentials_;
  peer.pid = 0;
  const std::string name = context.peer();
  std::string_view digits = name;
  if (!digits.starts_with(kDescriptorPrefix)) return peer;
  digits.remove_prefix(kDescriptorPrefix.size());
  int fd = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), fd);
  std::lock_guard lock(mutex_);
  const auto found = pids_.find(fd);
  if (found != pids_.end()) peer.pid = found->second;
  return peer;
}

void PeerServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (server_ != nullptr) server_->Shutdown(deadline);
}

}  // namespace cccl_cached
