// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/admin_service.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/service/calls/explain_call.h"
#include "daemon/service/calls/release_call.h"
#include "daemon/service/calls/unary_call.h"
#include "daemon/service/calls/upkeep_calls.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

/// Number of the longest compiles in an answer.
constexpr size_t kMostDearest = 20;

void AddGauge(v1::StatsReply& reply, std::string_view name, double value, std::string_view help) {
  v1::Statistic* statistic = reply.add_statistics();
  statistic->set_name(std::string(name));
  statistic->set_value(value);
  statistic->set_gauge(true);
  statistic->set_help(std::string(help));
}

void AddComponent(v1::Toolchain& to, const char* name, const std::optional<CompilerLibrary>& from) {
  if (!from) return;
  v1::ToolchainComponent* component = to.add_components();
  component->set_name(name);
  component->set_version(from->version);
  component->set_id(from->id.Hex());
  component->set_path(ToUtf8(from->path));
  if (from->stamp) component->set_stamp(from->stamp->Hex());
}

void Describe(const Toolchain& from, v1::Toolchain& to) {
  to.set_id(from.id.Hex());
  to.set_version(from.version());
  to.set_root(ToUtf8(from.root));
  AddComponent(to, "nvrtc", from.nvrtc);
  AddComponent(to, "nvjitlink", from.nvjitlink);
  AddComponent(to, "nvvm", from.nvvm);
  for (const HeaderDirectory& directory : from.headers) {
    to.add_header_directories(ToUtf8(directory.path));
  }
  if (from.capabilities.random_seed) to.add_accepted_options("-frandom-seed");
  if (from.capabilities.no_cache) to.add_accepted_options("--no-cache");
  if (from.capabilities.pch) to.add_accepted_options("--pch");
  for (const uint32_t architecture : from.capabilities.architectures) {
    to.add_architectures("sm_" + std::to_string(architecture));
  }
}

/// The result of Toolchains::Select for a build that names no toolchain.
using Default = std::optional<Result<ToolchainPtr>>;

Default DefaultFor(Toolchains& toolchains, uint32_t driver_version) {
  return toolchains.Select({}, driver_version, BuildKind::kNvrtc);
}

void DescribeAll(Toolchains& from, const Default& selected, v1::ToolchainsReply& to) {
  for (const ToolchainPtr& toolchain : from.Present()) {
    v1::Toolchain* description = to.add_toolchains();
    Describe(*toolchain, *description);
    description->set_selected_by_default(selected && selected->ok() && **selected == toolchain);
  }
  for (const RejectedToolchain& rejected : from.Rejected()) {
    v1::RejectedToolchain* description = to.add_rejected();
    description->set_root(ToUtf8(rejected.root));
    description->set_reason(ToUtf8(rejected.reason));
  }
}

void DescribeCluster(const ClusterGauges& from, v1::StatsReply& to) {
  to.mutable_remote()->set_address(ToUtf8(from.address));
  to.mutable_remote()->set_problem(ToUtf8(from.problem));
  const auto add = [&to](const char* name, uint64_t value, const char* help) {
    AddGauge(to, name, static_cast<double>(value), help);
  };
  add("remote_connected", from.connected > 0 ? 1 : 0, "1: Redis is connected.");
  add("remote_nodes", from.nodes, "Servers of Redis that share the keys.");
  add("remote_nodes_connected", from.connected, "Servers of Redis that are connected.");
  add("remote_signs", from.signs ? 1 : 0,
      "1: this node has a key, and writes what it compiles to Redis.");
  add("remote_trusted_keys", from.trusted_keys, "Keys whose entries this node takes.");
  add("remote_own_key_trusted", from.trusts_own_key ? 1 : 0,
      "1: the key of this node is among those whose entries it takes.");
  add("remote_leases_held", from.leases, "Compiles that this node makes for the cluster now.");
  add("remote_unanswered", from.unanswered, "Commands that Redis has not answered.");
  add("remote_unsent_bytes", from.unsent_bytes,
      "Size of the commands that were not sent yet, in bytes.");
  add("remote_unwritten_bytes", from.unwritten_bytes,
      "Size of the entries that wait to be written to Redis, in bytes.");
  if (!from.clock_ahead) return;
  AddGauge(to, "remote_clock_ahead_seconds",
           std::chrono::duration<double>(*from.clock_ahead).count(),
           "How far this node's clock is ahead of that of Redis, in seconds.");
}

void SetCounter(const CounterInfo& info, uint64_t count, v1::Statistic& to) {
  to.set_name(std::string(info.name));
  to.set_label(std::string(info.label));
  to.set_value(static_cast<double>(count) / info.per_unit);
}

v1::StatsReply DescribeStatistics(const AdminSources& sources) {
  v1::StatsReply reply;
  for (const CounterInfo& info : Counters()) {
    v1::Statistic& statistic = *reply.add_statistics();
    SetCounter(info, sources.statistics.Get(info.counter), statistic);
    statistic.set_help(std::string(info.help));
  }
  const TierSize stored = sources.stored();
  const BuildGauges building = sources.building();
  const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - sources.started;
  AddGauge(reply, "entries", static_cast<double>(stored.entries),
           "Artifacts in the cache, and lists of the files that decide them.");
  AddGauge(reply, "bytes", static_cast<double>(stored.bytes),
           "Size of the artifacts in the cache, in bytes.");
  AddGauge(reply, "store_limit_bytes", static_cast<double>(sources.store_limit),
           "Size above which artifacts are evicted, in bytes.");
  AddGauge(reply, "clients", static_cast<double>(sources.clients()), "Open connections.");
  AddGauge(reply, "in_flight", static_cast<double>(building.in_flight), "Compiles that run.");
  AddGauge(reply, "queued", static_cast<double>(building.queued),
           "Compiles that wait for a slot or for memory.");
  AddGauge(reply, "waiting", static_cast<double>(building.waiting),
           "Callers that wait for a compile.");
  AddGauge(reply, "idle_jobs", static_cast<double>(building.idle_jobs),
           "Shadow checks that run, or wait, while slots are free.");
  const MemoryActivity& memory = building.memory;
  AddGauge(reply, "compile_memory_bytes", static_cast<double>(memory.expected_bytes),
           "Memory that running compiles are expected to need, in bytes.");
  AddGauge(reply, "compile_memory_limit_bytes", static_cast<double>(memory.limit_bytes),
           "Memory above which compiles wait, in bytes; 0: no limit.");
  AddGauge(reply, "waiting_for_memory", static_cast<double>(memory.waiting),
           "Compiles and tools of clients that wait for memory, background compiles included.");
  AddGauge(reply, "memory_reservations", static_cast<double>(memory.reservations),
           "Tools of clients for which memory is reserved.");
  const DepositGauges deposits = sources.deposits.gauges();
  AddGauge(reply, "deposits", static_cast<double>(deposits.kept.entries), "Stored deposits.");
  AddGauge(reply, "deposit_bytes", static_cast<double>(deposits.kept.bytes),
           "Size of the deposits in bytes, at least 16 KiB each.");
  AddGauge(reply, "leases", static_cast<double>(deposits.leases.held), "Leases held.");
  AddGauge(reply, "lease_waiters", static_cast<double>(deposits.leases.waiting),
           "Callers that wait for a lease.");
  if (const auto cluster = sources.cluster()) DescribeCluster(*cluster, reply);
  if (const auto shelves = sources.shelves()) {
    AddGauge(reply, "shelves", static_cast<double>(shelves->shelves),
             "Directories of signed snapshots that are asked.");
    AddGauge(reply, "shelf_snapshots", static_cast<double>(shelves->snapshots),
             "Snapshots of shelves that are used.");
    AddGauge(reply, "shelf_entries", static_cast<double>(shelves->entries),
             "Entries in these snapshots.");
    AddGauge(reply, "shelf_problems", static_cast<double>(shelves->problems),
             "Snapshots and shelves that can't be used: the log says why.");
    AddGauge(reply, "shelf_silent", static_cast<double>(shelves->silent),
             "Shelves that do not answer: the log names them.");
    AddGauge(reply, "shelf_silent_seconds", static_cast<double>(shelves->silence.count()),
             "How long the longest of these has not answered, in seconds.");
  }
  AddGauge(reply, "uptime_seconds", uptime.count(), "Time since the daemon started, in seconds.");
  reply.set_version(sources.version);
  return reply;
}

void AddBreakdown(const BuildBreakdown& breakdown, const Peer& peer, v1::StatsReply& reply) {
  const auto only = peer.administrator ? std::nullopt : std::optional(peer.account());
  for (LabelledStatistic& each : breakdown.Take(only)) {
    v1::Statistic* statistic = reply.add_statistics();
    statistic->set_name(std::move(each.name));
    statistic->set_labels(std::move(each.labels));
    statistic->set_value(each.value);
    statistic->set_help(std::string(each.help));
  }
}

uint64_t Milliseconds(std::chrono::microseconds time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::chrono::microseconds SinceEpoch(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
}

void AddHours(const AdminSources& sources, v1::StatsReply& reply) {
  sources.hours.Note(std::chrono::system_clock::now(), sources.statistics);
  for (const HourlyCount& row : sources.hours.Take()) {
    v1::HourlyStatistics& to = *reply.add_hours();
    to.set_begin_s(row.hour * 3600);
    for (size_t i = 0; i < kHourlyCounters.size(); ++i) {
      if (row.counts[i] == 0) continue;
      SetCounter(*std::ranges::find(Counters(), kHourlyCounters[i], &CounterInfo::counter),
                 row.counts[i], *to.add_statistics());
    }
  }
}

void AddDearest(const std::vector<UsersBuild>& dearest, v1::StatsReply& reply) {
  for (const auto& [uid, build] : dearest) {
    v1::DearCompile& to = *reply.add_dearest();
    to.set_program(build->shown_name);
    to.set_kind(std::string(NameOf(build->kind)));
    to.set_toolchain(build->toolchain);
    to.set_key(build->key.Hex());
    to.set_compile_ms(Milliseconds(build->compile_time));
    to.set_time_ms(Milliseconds(SinceEpoch(build->time)));
    to.set_uid(uid);
  }
}

void Describe(const FlightActivity& from, v1::Flight& to) {
  to.set_key(from.key.Hex());
  to.set_kind(ToUtf8(from.kind));
  to.set_toolchain(from.toolchain);
  to.set_program(from.program);
  to.set_state(static_cast<v1::FlightState>(from.state));
  to.set_waiters(from.waiters);
  to.set_age_ms(Milliseconds(from.age));
  to.set_running_ms(Milliseconds(from.running));
  to.set_uid(from.uid);
  to.set_of_this_process(from.of_asker);
}

void DescribeFlights(const AdminSources& sources, const Peer& peer, BuildActivity activity,
                     v1::ActivityReply& reply) {
  const auto only = peer.administrator ? std::nullopt : std::optional(peer.uid);
  const auto means = sources.breakdown.MeanCompiles();
  for (const FlightActivity& flight : activity.flights) {
    v1::Flight& to = *reply.add_flights();
    Describe(flight, to);
    const auto mean = means.find({flight.kind, flight.toolchain});
    // The estimate is at least 1, because 0 means that it is unknown.
    if (mean != means.end()) to.set_estimate_ms(std::max<uint64_t>(1, Milliseconds(mean->second)));
  }
  for (const FlightActivity& lease : sources.deposits.Leases(only, &activity.more_flights)) {
    Describe(lease, *reply.add_flights());
  }
  reply.set_more_flights(activity.more_flights);
}

void DescribeNamespaces(const NamespaceCounts& counts, v1::ActivityReply& reply) {
  constexpr size_t kMost = 8;
  std::vector<std::pair<std::string, NamespaceUses>> rows(counts.rows().begin(),
                                                          counts.rows().end());
  std::ranges::stable_sort(rows, std::greater{},
                           [](const auto& row) { return row.second.total(); });
  for (size_t i = 0; i < std::min(rows.size(), kMost); ++i) {
    const auto& [name, uses] = rows[i];
    v1::NamespaceUses& to = *reply.add_namespaces();
    to.set_name(name);
    to.set_hits(uses.found);
    to.set_joined(uses.joined);
    to.set_made(uses.made);
    to.set_read_bytes(uses.read_bytes);
    to.set_saved_ms(Milliseconds(uses.saved));
  }
}

v1::ActivityReply DescribeActivity(const AdminSources& sources, const Peer& peer) {
  const BuildActivity activity = sources.activity(peer);
  v1::ActivityReply reply;
  reply.set_slots(activity.slots);
  reply.set_running(activity.running);
  reply.set_queued(activity.queued);
  reply.set_waiting(activity.waiting);
  DescribeFlights(sources, peer, activity, reply);
  for (const AccountActivity& account : activity.accounts) {
    v1::UserQueue& to = *reply.add_users();
    to.set_user(account.account.Label());
    to.set_queued(account.queued);
    to.set_running(account.running);
  }
  for (const ZygoteActivity& zygote : sources.zygotes()) {
    if (zygote.apart && !peer.administrator && *zygote.apart != peer.account()) continue;
    v1::Zygote& to = *reply.add_zygotes();
    to.set_toolchain(zygote.toolchain);
    to.set_resident_bytes(zygote.resident_bytes);
    to.set_jobs(zygote.jobs);
    if (zygote.apart) to.set_user(zygote.apart->Label());
  }
  reply.set_preambles(activity.preambles);
  reply.set_preamble_bytes(activity.preamble_bytes);
  reply.set_compile_memory_bytes(activity.memory.expected_bytes);
  reply.set_compile_memory_limit_bytes(activity.memory.limit_bytes);
  reply.set_waiting_for_memory(activity.memory.waiting);
  DescribeNamespaces(sources.breakdown.Namespaces(
                         peer.administrator ? std::nullopt : std::optional(peer.account())),
                     reply);
  for (const Failure& failure : sources.failures.Take(peer)) {
    v1::Failure& to = *reply.add_failures();
    to.set_time_ms(Milliseconds(SinceEpoch(failure.time)));
    to.set_kind(std::string(failure.kind));
    to.set_uid(failure.uid);
    if (failure.key) to.set_key(failure.key->Hex());
    to.set_error(failure.text.empty() ? failure.cause : failure.text);
  }
  return reply;
}

grpc::Status ZeroStatistics(const AdminSources& sources, const Peer& peer) {
  if (!peer.administrator) {
    return {grpc::StatusCode::PERMISSION_DENIED,
            "only administrators may set the statistics to zero: root, and the members of the "
            "daemon's --admin-group"};
  }
  sources.statistics.Clear();
  sources.hours.Clear();
  sources.breakdown.Clear();
  return grpc::Status::OK;
}

void AnswerToolchains(Toolchains& toolchains, uint32_t driver_version, UnaryCall::Reply answer) {
  auto describe = [&toolchains, answer = std::move(answer)](const Default& selected) {
    v1::ToolchainsReply reply;
    if (!toolchains.Looked() && selected && !selected->ok()) {
      return answer({grpc::StatusCode::UNAVAILABLE, selected->error().message}, reply);
    }
    DescribeAll(toolchains, selected, reply);
    answer(grpc::Status::OK, reply);
  };
  // gRPC's threads must not wait until a search for toolchains has ended. If the answer is not
  // known yet, another thread sends it later.
  const Default selected = DefaultFor(toolchains, driver_version);
  if (toolchains.Looked() && selected) {
    describe(selected);
  } else {
    toolchains.WhenKnown({}, driver_version, BuildKind::kNvrtc,
                         [&toolchains, driver_version, describe = std::move(describe)] {
                           describe(DefaultFor(toolchains, driver_version));
                         });
  }
}

}  // namespace

AdminService::AdminService(BuildBackend& backend, const Peer& peer, PeerOf peer_of,
                           const AdminSources& sources) {
  const Account account = peer.account();
  Serve("/cccl_cache.v1.Admin/Explain", [&backend, peer_of](CallStream& stream) {
    new ExplainCall(backend, peer_of(stream), stream);
  });
  Serve(
      "/cccl_cache.v1.Admin/Stats",
      UnaryCall::Maker<v1::StatsRequest>(
          backend, account, [&sources, peer](const auto& request, const UnaryCall::Reply& answer) {
            v1::StatsReply reply = DescribeStatistics(sources);
            if (request.detailed()) {
              AddBreakdown(sources.breakdown, peer, reply);
              AddHours(sources, reply);
              AddDearest(sources.dearest(peer, kMostDearest), reply);
            }
            answer(grpc::Status::OK, reply);
          }));
  Serve("/cccl_cache.v1.Admin/Activity",
        [&backend, &sources, account, peer_of = std::move(peer_of)](CallStream& stream) {
          UnaryCall::Maker<v1::ActivityRequest>(
              backend, account,
              [&sources, caller = peer_of(stream)](const auto& /*request*/,
                                                   const UnaryCall::Reply& answer) {
                answer(grpc::Status::OK, DescribeActivity(sources, caller));
              })(stream);
        });
  Serve("/cccl_cache.v1.Admin/ZeroStats",
        UnaryCall::Maker<v1::ZeroStatsRequest>(
            backend, account,
            [&sources, peer](const auto& /*request*/, const UnaryCall::Reply& answer) {
              answer(ZeroStatistics(sources, peer), v1::ZeroStatsReply());
            }));
  Serve("/cccl_cache.v1.Admin/Toolchains",
        UnaryCall::Maker<v1::ToolchainsRequest>(
            backend, account, [&sources](const auto& request, UnaryCall::Reply answer) {
              AnswerToolchains(sources.toolchains, request.driver_version(), std::move(answer));
            }));
  const auto serve_blocking = [&](const char* method, BlockingCall::Work work) {
    Serve(method, BlockingCall::Maker(backend, sources.threads, peer, std::move(work)));
  };
  serve_blocking("/cccl_cache.v1.Admin/AddRelease",
                 [&sources](BlockingCall& call) { return AddRelease(call, sources.releases); });
  serve_blocking("/cccl_cache.v1.Admin/Evict",
                 [&sources](BlockingCall& call) { return Evict(call, sources.upkeep); });
  serve_blocking("/cccl_cache.v1.Admin/Verify",
                 [&sources](BlockingCall& call) { return Verify(call, sources.upkeep); });
}

}  // namespace cccl_cache::daemon
