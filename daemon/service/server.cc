// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/server.h"

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/service/calls/health.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/limits/daemons_rights.h"
#include "daemon/service/peer_servers.h"
#include "daemon/service/transport/acceptor.h"
#include "daemon/service/transport/call_server.h"
#include "daemon/service/transport/flood_history.h"
#include "daemon/service/transport/guarded_sockets.h"
#include "daemon/service/wire/build_request.h"
#include "proto/fingerprint.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::seconds kGuardTimeout{10};
/// Connections that a client may open in addition to its limit before the daemon has seen the end
/// of old ones.
constexpr size_t kSomeMore = 100;

cccl_cache::v1::InfoReply DescribeDaemon(const ServerOptions& options,
                                         const Deposits::Options& deposits) {
  cccl_cache::v1::InfoReply reply;
  reply.set_version(options.version);
  reply.set_api_minor(kApiMinor);
  reply.set_fingerprint_layout(kFingerprintLayout);
  reply.set_uid(geteuid());
  const BuildLimits& build = options.build_limits;
  auto* limits = reply.mutable_limits();
  limits->set_message_bytes(options.limits.message_bytes);
  limits->set_source_bytes(options.limits.source_bytes);
  limits->set_headers(options.limits.headers);
  limits->set_header_set_bytes(options.limits.header_set_bytes);
  limits->set_upload_bytes(options.limits.upload_bytes);
  limits->set_upload_bytes_per_uid(options.limits.upload_bytes_per_uid);
  limits->set_bytes_in_flight(options.limits.bytes_in_flight);
  limits->set_bytes_in_flight_per_uid(options.limits.bytes_in_flight_per_uid);
  limits->set_queued(build.queued);
  limits->set_queued_per_uid(build.queued_per_uid);
  limits->set_connections(options.limits.connections);
  limits->set_connections_per_uid(options.limits.connections_per_uid);
  limits->set_calls_per_uid(options.limits.calls_per_uid);
  limits->set_calls(options.limits.calls);
  limits->set_build_seconds(static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(build.compile.time).count()));
  limits->set_worker_bytes(build.compile.memory_bytes);
  limits->set_failures_remembered_seconds(static_cast<uint64_t>(
      std::chrono::ceil<std::chrono::seconds>(build.remember_failures).count()));
  limits->set_deposit_bytes(std::min(options.limits.source_bytes, deposits.limits.bytes_per_uid));
  limits->set_deposit_bytes_per_uid(deposits.limits.bytes_per_uid);
  limits->set_leases_per_uid(kLeasesPerUid);
  limits->set_lease_heartbeat_ms(static_cast<uint64_t>(deposits.limits.heartbeat.count()));
  limits->set_lease_seconds(static_cast<uint64_t>(
      std::chrono::ceil<std::chrono::seconds>(deposits.limits.longest_lease).count()));
  return reply;
}

TrafficLimits TrafficLimitsOf(const ServiceLimits& limits) {
  // A message that is a little too large for the service, or below the default, passes this check.
  // gRPC then refuses it with an error that names the limit. Otherwise the connection would be cut
  // off.
  return {.message_bytes = std::max(2 * limits.message_bytes, TrafficLimits{}.message_bytes),
          .open_calls = limits.calls_per_uid + size_t{4} * kStreamsPerConnection,
          .connections_at_once = static_cast<uint32_t>(limits.connections_per_uid + kSomeMore)};
}

/// A connection of a container's user. While it is open, the user keeps its number
/// (Containers::Hold).
class ContainersConnection final : public Connection {
 public:
  ContainersConnection(std::shared_ptr<const void> hold, std::unique_ptr<Connection> connection)
      : hold_(std::move(hold)), connection_(std::move(connection)) {}

 private:
  const std::shared_ptr<const void> hold_;
  const std::unique_ptr<Connection> connection_;
};

/// Finds out that a daemon was unused for some time. Not thread-safe.
class IdleTime {
 public:
  /// `limit` is the time; 0 for no end.
  explicit IdleTime(std::chrono::milliseconds limit) : limit_(limit) {}

  void NoteUse() { last_use_ = Clock::now(); }
  /// Returns whether the time since the last use has reached the limit. Returns true only once.
  [[nodiscard]] bool Ends() {
    if (limit_.count() == 0 || Clock::now() - last_use_ < limit_) return false;
    limit_ = std::chrono::milliseconds(0);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::chrono::milliseconds limit_;
  Clock::time_point last_use_ = Clock::now();
};

Status CheckGuard() {
  const MethodTable none;
  grpc::ServerBuilder builder;
  const auto server = CallServer::Start(builder, none, [](const CallStream&) {});
  if (server == nullptr) return Error{ErrorCode::kUnavailable, "gRPC could not start a server"};
  return CheckThatSocketsAreGuarded(
      [&server](FileDescriptor socket) { server->Serve(std::move(socket)); }, kGuardTimeout);
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, ServerSources sources)
      : options_(std::move(options)),
        statistics_(sources.statistics),
        report_cut_off_(std::move(sources.report_cut_off)),
        report_lost_socket_(std::move(sources.report_lost_socket)),
        report_idle_(std::move(sources.report_idle)),
        alive_(std::move(sources.alive)),
        accounts_(sources.accounts),
        administrators_(options_.admin_group),
        budget_(sources.budget),
        read_gate_({options_.limits.gate_turns(), options_.limits.gate_turns()}),
        answer_gate_({options_.limits.gate_turns(), options_.limits.gate_turns()}),
        uploads_(options_.limits.upload_kept),
        deposit_readers_(budget_),
        backend_{options_.limits,
                 sources.builder,
                 sources.queue,
                 sources.statistics,
                 budget_,
                 read_gate_,
                 answer_gate_,
                 uploads_,
                 sources.deposits,
                 deposit_readers_,
                 std::move(sources.sent_contents)},
        admin_{sources.toolchains,
               sources.releases,
               sources.upkeep,
               call_threads_,
               sources.statistics,
               sources.hours,
               sources.breakdown,
               sources.failures,
               sources.deposits,
               std::move(sources.stored),
               options_.store_limit,
               std::move(sources.building),
               std::move(sources.activity),
               std::move(sources.zygotes),
               std::move(sources.dearest),
               std::move(sources.cluster),
               std::move(sources.shelves),
               [this] { return budget_.Used(Resource::kConnections); },
               std::chrono::steady_clock::now(),
               options_.version},
        info_(DescribeDaemon(options_, sources.deposits.options())),
        snapshots_{sources.snapshots, call_threads_},
        peer_servers_(PeerServerParts{backend_, admin_, info_, health_, snapshots_, rights_},
                      options_.limits.idle_peer_servers),
        floods_(TrafficLimitsOf(options_.limits), std::chrono::steady_clock::now),
        idle_time_(options_.idle_timeout) {}

  void AddListener(ListeningSocket socket) { listeners_.push_back(std::move(socket)); }

  Status Start() {
    // There is no grpc_shutdown for this grpc_init. The last grpc_shutdown would wait up to 10 s
    // for a polling thread that a large reply has started, and the process is about to end anyway.
    grpc_init();
    if (const Status guarded = CheckGuard(); !guarded) return guarded;
    Acceptor::Callbacks callbacks{
        .identify = [this](int socket, const ListeningSocket& listener,
                           Peer& peer) { Identify(socket, listener, peer); },
        .traffic_of = [this](const Peer& peer) { return TrafficOf(peer); },
        .admit = [this](FileDescriptor socket,
                        const Peer& peer) { return Admit(std::move(socket), peer); },
        .cut_off = [this](const Peer& peer, const FrameRule* rule) { NoteCutOff(peer, rule); },
        .tick =
            [this] {
              uploads_.Forget();
              read_gate_.EndSlow();
              answer_gate_.EndSlow();
              peer_servers_.EndIdle();
              floods_.Forget();
              EndIfIdle();
              alive_();
            },
        .tell_problem = [this](std::string problem) { NoteSockets(std::move(problem)); }};
    acceptor_ =
        std::make_unique<Acceptor>(std::move(listeners_), options_.tick, std::move(callbacks));
    return acceptor_->Start();
  }

  void SetProblem(std::string problem) {
    const MutexLock lock(problem_mutex_);
    problem_ = std::move(problem);
    TellHealth();
  }

  void StoppingSoon() { health_.SetServing(false); }

  void StopAccepting() {
    if (acceptor_ != nullptr) acceptor_->Stop();
  }

  void Shutdown(std::chrono::milliseconds deadline) {
    StoppingSoon();
    StopAccepting();
    // Calls of health's Watch never end by themselves, so they would last until the deadline.
    health_.Stop();
    peer_servers_.Shutdown(deadline);
  }

 private:
  void Identify(int socket, const ListeningSocket& listener, Peer& peer) {
    if (listener.for_containers()) return accounts_.containers().Identify(socket, peer);
    peer.counted_as = accounts_.Of(peer.uid);
    peer.administrator = administrators_.Include(socket, peer);
    // The uids of this range are assigned to users of containers. For a real user with such a uid
    // the daemon keeps nothing, as for kOverflowUid.
    if (IsContainerUser(peer.uid)) peer.uid = kOverflowUid;
  }

  void EndIfIdle() {
    const BuildGauges builds = admin_.building();
    if (budget_.Used(Resource::kConnections) + builds.in_flight + builds.queued > 0) {
      idle_time_.NoteUse();
    }
    if (idle_time_.Ends()) report_idle_();
  }

  std::unique_ptr<Connection> Admit(FileDescriptor socket, const Peer& peer) {
    idle_time_.NoteUse();
    auto connection = peer_servers_.Connect(std::move(socket), peer);
    if (connection == nullptr || !IsContainerUser(peer.uid)) return connection;
    return std::make_unique<ContainersConnection>(accounts_.containers().Hold(peer.uid),
                                                  std::move(connection));
  }

  std::shared_ptr<UserTraffic> TrafficOf(const Peer& peer) {
    auto traffic = floods_.Admit(peer.account(), peer.uid);
    if (traffic == nullptr) statistics_.Add(Counter::kRefused);
    return traffic;
  }

  void NoteSockets(std::string problem) {
    {
      const MutexLock lock(problem_mutex_);
      if (problem == problem_of_sockets_) return;
      problem_of_sockets_ = problem;
      TellHealth();
    }
    if (!problem.empty()) report_lost_socket_(problem);
  }

  void TellHealth() REQUIRES(problem_mutex_) {
    const bool both = !problem_.empty() && !problem_of_sockets_.empty();
    health_.SetProblem(problem_ + (both ? "; " : "") + problem_of_sockets_);
  }

  void NoteCutOff(const Peer& peer, const FrameRule* rule) {
    statistics_.Add(Counter::kCutOff);
    if (rule->is_attack) floods_.NoteCutOff(peer.account(), peer.uid);
    report_cut_off_(fmt::format("cut off a connection of uid {}, pid {}: it sent {}", peer.uid,
                                peer.pid, rule->text));
  }

  const ServerOptions options_;
  Statistics& statistics_;
  const std::function<void(std::string_view)> report_cut_off_;
  const std::function<void(std::string_view)> report_lost_socket_;
  const std::function<void()> report_idle_;
  const std::function<void()> alive_;
  Accounts& accounts_;
  const Administrators administrators_;
  Budget& budget_;
  ReadGate read_gate_;
  ReadGate answer_gate_;
  Uploads uploads_;
  DepositReaders deposit_readers_;
  BuildBackend backend_;
  AdminSources admin_;
  const cccl_cache::v1::InfoReply info_;
  Health health_;
  Mutex problem_mutex_;
  std::string problem_ GUARDED_BY(problem_mutex_);  ///< the problem from SetProblem
  std::string problem_of_sockets_ GUARDED_BY(problem_mutex_);
  BlockingPool call_threads_{kBlockingCallThreads};
  const SnapshotSources snapshots_;
  const DaemonsRights rights_;
  PeerServers peer_servers_;
  FloodHistory floods_;  // used only on the acceptor's thread
  IdleTime idle_time_;   // used only on the acceptor's thread
  std::vector<ListeningSocket> listeners_;
  std::unique_ptr<Acceptor> acceptor_;
};

Server::Server(ServerOptions options, ServerSources sources)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(sources))) {}

Server::~Server() { impl_->Shutdown(std::chrono::milliseconds(0)); }

void Server::AddListener(ListeningSocket socket) { impl_->AddListener(std::move(socket)); }

Status Server::Start() { return impl_->Start(); }

void Server::SetProblem(std::string problem) { impl_->SetProblem(std::move(problem)); }

void Server::StoppingSoon() { impl_->StoppingSoon(); }

void Server::StopAccepting() { impl_->StopAccepting(); }

void Server::Shutdown(std::chrono::milliseconds deadline) { impl_->Shutdown(deadline); }

void WaitForEachServerAlone() { setenv("GRPC_POLL_STRATEGY", "poll", 0); }

}  // namespace cccl_cache::daemon
