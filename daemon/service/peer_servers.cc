// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/peer_servers.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/service/peer_server.h"
#include "daemon/service/transport/guarded_sockets.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kStopPatience{20};

/// Maximum number of different credentials with connections that one uid may have. In a user
/// namespace a process can choose its groups, so one uid can have many credentials. Each costs a
/// gRPC server.
constexpr int64_t kMaxGroupsPerUid = 16;
/// Bytes by which gRPC's quota exceeds our own limit of bytes in flight. Our limit must be reached
/// first, because it refuses a call with a clear error. At gRPC's quota, calls end without one.
constexpr size_t kQuotaSlack = 256u << 20;

}  // namespace

RetiredServers::RetiredServers() : thread_([this] { Run(); }) {}

RetiredServers::~RetiredServers() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void RetiredServers::Add(std::shared_ptr<void> server) {
  {
    const MutexLock lock(mutex_);
    servers_.push_back(std::move(server));
  }
  changed_.NotifyAll();
}

size_t RetiredServers::Count() const {
  const MutexLock lock(mutex_);
  return servers_.size();
}

void RetiredServers::WaitForAll() {
  const MutexLock lock(mutex_);
  changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return servers_.empty(); });
}

void RetiredServers::Run() {
  NameThread("end of servers");
  MutexLock lock(mutex_);
  for (;;) {
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return stopped_ || !servers_.empty(); });
    if (servers_.empty()) return;
    std::shared_ptr<void> ending = std::move(servers_.front());
    lock.Unlock();
    {
      // A client can make the close of its socket wait for any time (guarded_sockets.h).
      const InterruptedWaits interrupted(gettid(), kStopPatience);
      ending.reset();
    }
    lock.Lock();
    servers_.pop_front();
    changed_.NotifyAll();
  }
}

/// Counts one connection for its account and for its server.
class PeerServers::OpenConnection final : public Connection {
 public:
  OpenConnection(PeerServers& servers, Credentials credentials, uint64_t served, Share share)
      : servers_(servers),
        credentials_(std::move(credentials)),
        served_(served),
        share_(std::move(share)) {}
  ~OpenConnection() override { servers_.Ended(credentials_, served_); }

 private:
  PeerServers& servers_;
  const Credentials credentials_;
  const uint64_t served_;
  const Share share_;
};

PeerServers::Credentials PeerServers::CredentialsOf(const Peer& peer) {
  return {peer.account(), peer.uid, peer.administrator, peer.reach, peer.gid, peer.groups};
}

PeerServers::~PeerServers() { Shutdown(std::chrono::milliseconds(0)); }

std::unique_ptr<Connection> PeerServers::Connect(FileDescriptor socket, const Peer& peer) {
  auto share = parts_.backend.budget.Take(peer.account(), Resource::kConnections);
  const MutexLock lock(mutex_);
  if (stopped_) return nullptr;
  for (auto& server : TakeSurplus()) retired_.Add(std::move(server));
  Entry* entry = share ? EntryOf(peer) : nullptr;
  if (entry == nullptr) {
    parts_.backend.statistics.Add(Counter::kRefused);
    return nullptr;
  }
  ++entry->connections;
  entry->last_used = ++uses_;
  return std::make_unique<OpenConnection>(*this, CredentialsOf(peer),
                                          entry->server->Serve(std::move(socket), peer.pid),
                                          std::move(*share));
}

PeerServers::Entry* PeerServers::EntryOf(const Peer& peer) {
  const Credentials credentials = CredentialsOf(peer);
  const auto found = entries_.find(credentials);
  if (found != entries_.end()) return &found->second;
  // Only credentials with connections count. Otherwise a user who changes groups often would be
  // locked out.
  const auto of_uid = std::ranges::count_if(entries_, [&peer](const auto& entry) {
    return std::get<1>(entry.first) == peer.uid && entry.second.connections > 0;
  });
  if (of_uid >= kMaxGroupsPerUid) return nullptr;
  auto server = std::make_unique<PeerServer>(peer, parts_, QuotaOf(peer.account()));
  if (!server->started()) return nullptr;
  return &entries_.emplace(credentials, Entry{std::move(server)}).first->second;
}

std::shared_ptr<grpc::ResourceQuota> PeerServers::QuotaOf(Account account) {
  std::erase_if(quotas_, [](const auto& entry) { return entry.second.expired(); });
  if (auto quota = quotas_[account].lock()) return quota;
  auto quota = std::make_shared<grpc::ResourceQuota>("account");
  quota->Resize(parts_.backend.limits.bytes_in_flight_per_uid + kQuotaSlack);
  quotas_[account] = quota;
  return quota;
}

std::vector<std::unique_ptr<PeerServer>> PeerServers::TakeSurplus() {
  std::vector<std::map<Credentials, Entry>::iterator> idle;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->second.connections == 0) idle.push_back(entry);
  }
  std::vector<std::unique_ptr<PeerServer>> surplus;
  if (idle.size() <= idle_kept_) return surplus;
  std::ranges::sort(idle, {}, [](const auto& entry) { return entry->second.last_used; });
  idle.resize(idle.size() - idle_kept_);
  for (const auto& entry : idle) {
    surplus.push_back(std::move(entry->second.server));
    entries_.erase(entry);
  }
  return surplus;
}

void PeerServers::Ended(const Credentials& credentials, uint64_t served) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(credentials);
  if (found == entries_.end()) return;
  --found->second.connections;
  found->second.server->Ended(served);
}

void PeerServers::EndIdle() {
  const MutexLock lock(mutex_);
  for (auto& [credentials, entry] : entries_) {
    for (auto& server : entry.server->TakeIdle()) retired_.Add(std::move(server));
  }
}

void PeerServers::Shutdown(std::chrono::milliseconds deadline) {
  const auto until = std::chrono::system_clock::now() + deadline;
  std::map<Credentials, Entry> entries;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    std::swap(entries, entries_);
  }
  ParallelFor(entries, [until](auto& entry) { entry.second.server->Shutdown(until); });
  retired_.WaitForAll();
}

}  // namespace cccl_cache::daemon
