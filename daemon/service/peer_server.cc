// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/peer_server.h"

#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "proto/daemons_rights.h"

namespace cccl_cache::daemon {
namespace {

constexpr int kKeepaliveMilliseconds = 60'000;
/// The shortest interval between pings of a client that gRPC accepts. A client pings up to twice a
/// second to check that the daemon is alive. With gRPC's default this would count as an attack.
constexpr int kPingMilliseconds = 250;
/// Bytes by which a sent message may exceed the limit of its contents.
constexpr int kMessageSlack = 64 << 10;
/// Messages of up to this many bytes are sent even if message_bytes is smaller: a chunk of an
/// artifact, or a reply with only a log.
constexpr int kMaxPiece = 5 << 20;
constexpr std::string_view kDescriptorPrefix = "fd:";
/// A peer gets a further server for a further connection while it has fewer servers than the
/// machine has groups of kProcessorsPerServer processors, and at most kMaxAtOnce. Eight ranks of
/// one user on a large node thus get a thread each. On two processors one thread serves all
/// connections, because clients and compiles need the processors.
constexpr unsigned kMaxAtOnce = 8;
constexpr unsigned kProcessorsPerServer = 4;

size_t ServerCount() {
  return std::clamp(std::thread::hardware_concurrency() / kProcessorsPerServer, 1u, kMaxAtOnce);
}

/// Returns the descriptor of the call's connection, or -1 if it is unknown.
int DescriptorOf(const CallStream& stream) {
  const std::string name = stream.peer();
  std::string_view digits = name;
  if (!digits.starts_with(kDescriptorPrefix)) return -1;
  digits.remove_prefix(kDescriptorPrefix.size());
  int fd = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), fd);
  return fd;
}

/// Returns the services that gRPC's reflection lists: those in kOwnServices, and two of gRPC's own
/// that its tools look for.
std::vector<std::string> ListedServices() {
  std::vector<std::string> names(std::begin(kOwnServices), std::end(kOwnServices));
  names.emplace_back("grpc.health.v1.Health");
  names.emplace_back("grpc.reflection.v1alpha.ServerReflection");
  return names;
}

/// Refuses compressed messages, because they may be small on the wire and large in memory.
void RefuseCompression(grpc::ServerBuilder& builder) {
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

/// Sets limits for memory that Budget does not count: that of HTTP/2 connections, and of calls of
/// unknown methods.
void BoundPeer(grpc::ServerBuilder& builder, const grpc::ResourceQuota& quota) {
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  // Fixes the HTTP/2 window. Otherwise gRPC would enlarge it, and with it the number of bytes that
  // a client can send before its message is read.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Keep-alive ends the connection of a client that was stopped in the middle of a message.
  // Otherwise that client would keep its turn (ReadGate) for ever.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kPingMilliseconds);
}

}  // namespace

PeerServer::PeerServer(Peer credentials, const PeerServerParts& parts,
                       std::shared_ptr<grpc::ResourceQuota> quota)
    : credentials_(std::move(credentials)),
      budget_(parts.backend.budget),
      rights_(parts.rights),
      limits_(parts.backend.limits),
      build_(parts.backend, [this](const CallStream& stream) { return PeerOf(stream); }),
      deposit_(parts.backend, credentials_),
      snapshot_(parts.backend, credentials_, parts.snapshots),
      admin_(
          parts.backend, credentials_, [this](const CallStream& stream) { return PeerOf(stream); },
          parts.admin),
      info_(parts.backend, credentials_.account(), parts.info, parts.health),
      health_(parts.backend, credentials_.account(), parts.health),
      reflection_(parts.backend, credentials_.account(), ListedServices()),
      quota_(std::move(quota)) {
  build_.AddTo(methods_);
  deposit_.AddTo(methods_);
  snapshot_.AddTo(methods_);
  admin_.AddTo(methods_);
  info_.AddTo(methods_);
  health_.AddTo(methods_);
  reflection_.AddTo(methods_);
  StartServer();
}

PeerServer::~PeerServer() { Shutdown(std::chrono::system_clock::now()); }

bool PeerServer::started() const {
  const MutexLock lock(mutex_);
  return !servers_.empty();
}

bool PeerServer::StartServer() {
  auto share = budget_.Take(credentials_.account(), Resource::kServers);
  if (!share) return false;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits_.message_bytes));
  builder.SetMaxSendMessageSize(std::max(static_cast<int>(limits_.message_bytes), kMaxPiece) +
                                kMessageSlack);
  RefuseCompression(builder);
  BoundPeer(builder, *quota_);
  auto server =
      CallServer::Start(builder, methods_, [this](const CallStream& stream) { Look(stream); });
  if (server == nullptr) return false;
  servers_.emplace(next_server_++, Served{*std::move(share), std::move(server)});
  return true;
}

PeerServer::Servers::iterator PeerServer::LeastBusy() {
  static const size_t at_once = ServerCount();
  const auto least = std::ranges::min_element(
      servers_, {}, [](const auto& served) { return served.second.connections; });
  const size_t connections = least->second.connections;
  const bool another = connections >= limits_.connections_per_server ||
                       (connections > 0 && servers_.size() < at_once);
  return another && StartServer() ? std::prev(servers_.end()) : least;
}

uint64_t PeerServer::Serve(FileDescriptor socket, pid_t pid) {
  const MutexLock lock(mutex_);
  connections_[socket.get()] = {.pid = pid, .reach = credentials_.reach};
  auto& [number, served] = *LeastBusy();
  ++served.connections;
  served.server->Serve(std::move(socket));
  return number;
}

void PeerServer::Ended(uint64_t served) {
  const MutexLock lock(mutex_);
  Served& left = servers_.at(served);
  if (--left.connections == 0) left.idle_since = std::chrono::steady_clock::now();
}

std::vector<std::shared_ptr<void>> PeerServer::TakeIdle() {
  const auto kept_since = std::chrono::steady_clock::now() - limits_.idle_server_kept;
  std::vector<std::shared_ptr<void>> idle;
  const MutexLock lock(mutex_);
  for (auto each = std::next(servers_.begin()); each != servers_.end();) {
    const auto next = std::next(each);
    Served& served = each->second;
    if (served.connections == 0 && served.idle_since <= kept_since) {
      idle.push_back(std::make_shared<Served>(std::move(served)));
      servers_.erase(each);
    }
    each = next;
  }
  return idle;
}

void PeerServer::Look(const CallStream& stream) {
  const MutexLock lock(mutex_);
  const auto found = connections_.find(DescriptorOf(stream));
  if (found == connections_.end() || std::exchange(found->second.has_called, true)) return;
  FileReach& reach = found->second.reach;
  if (reach == FileReach::kEverybodys && credentials_.uid == geteuid() &&
      rights_.AreProvenBy(stream.Field(kRightsField))) {
    reach = FileReach::kDaemons;
  }
}

Peer PeerServer::PeerOf(const CallStream& stream) const {
  Peer peer = credentials_;
  const MutexLock lock(mutex_);
  const auto found = connections_.find(DescriptorOf(stream));
  peer.pid = found != connections_.end() ? found->second.pid : 0;
  if (found != connections_.end()) peer.reach = found->second.reach;
  return peer;
}

void PeerServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  std::vector<CallServer*> servers;
  {
    // The lock is released before the servers end, because calls that still arrive need it.
    const MutexLock lock(mutex_);
    for (const auto& [number, served] : servers_) servers.push_back(served.server.get());
  }
  ParallelFor(servers, [deadline](CallServer* server) { server->Shutdown(deadline); });
}

}  // namespace cccl_cache::daemon
