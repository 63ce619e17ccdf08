// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/admin_service.h"

#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cccl_cache/v1/admin.grpc.pb.h"
#include "tests/unit/service/raw_call.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::admin_service_test {
namespace {

namespace v1 = cccl_cache::v1;

TEST_CASE("statistics have every counter and the current gauges") {
  RunningServer running;
  running.statistics.Add(Counter::kHitsDisk, 5);
  running.statistics.Add(Counter::kSavedMicroseconds, 2'500'000);
  grpc::ClientContext context;
  v1::StatsReply reply;
  REQUIRE(v1::Admin::NewStub(running.Connect())->Stats(&context, {}, &reply).ok());
  CHECK(reply.version() == "1.2.3");
  std::map<std::string, double> totals;
  std::map<std::string, double> gauges;
  for (const auto& statistic : reply.statistics()) {
    CHECK_FALSE(statistic.help().empty());
    auto& values = statistic.gauge() ? gauges : totals;
    const bool added =
        values.emplace(statistic.name() + statistic.label(), statistic.value()).second;
    CHECK(added);
  }
  CHECK(totals.size() == Counters().size());
  CHECK(totals.at("hits_totaldisk") == 5);
  CHECK(totals.at("saved_seconds_total") == 2.5);
  CHECK(gauges.at("entries") == 7);
  CHECK(gauges.at("bytes") == 4096);
  CHECK(gauges.at("store_limit_bytes") == 8192);
  CHECK(gauges.at("clients") == 1);
  CHECK(gauges.at("in_flight") == 2);
  CHECK(gauges.at("queued") == 3);
  CHECK(gauges.at("idle_jobs") == 5);
  CHECK(gauges.at("remote_connected") == 1);
  CHECK(gauges.at("remote_nodes") == 3);
  CHECK(gauges.at("remote_nodes_connected") == 2);
  CHECK(gauges.at("remote_unanswered") == 5);
  CHECK_FALSE(gauges.contains("remote_clock_ahead_seconds"));
  CHECK(reply.remote().address() == "redis://a");
  CHECK(gauges.at("waiting") == 4);
  CHECK(gauges.at("compile_memory_bytes") == 50);
  CHECK(gauges.at("compile_memory_limit_bytes") == 60);
  CHECK(gauges.at("waiting_for_memory") == 1);
  CHECK(gauges.at("uptime_seconds") > 0);
}

namespace {

/// Returns the values of one detailed statistic by their labels.
std::map<std::string, double> Detailed(const RunningServer& running, const std::string& name) {
  grpc::ClientContext context;
  v1::StatsRequest request;
  request.set_detailed(true);
  v1::StatsReply reply;
  REQUIRE(v1::Admin::NewStub(running.Connect())->Stats(&context, request, &reply).ok());
  std::map<std::string, double> found;
  for (const auto& each : reply.statistics()) {
    if (each.name() == name) found[each.labels()] = each.value();
  }
  return found;
}

void AddHit(BuildBreakdown& breakdown, uid_t uid) {
  Peer peer;
  peer.uid = uid;
  BuildAnswer answer;
  answer.outcome = Outcome::kHit;
  breakdown.Add({peer, BuildKind::kNvrtc, std::chrono::microseconds(1), answer});
}

grpc::Status Zero(const RunningServer& running) {
  grpc::ClientContext context;
  v1::ZeroStatsReply reply;
  return v1::Admin::NewStub(running.Connect())->ZeroStats(&context, {}, &reply);
}

}  // namespace

TEST_CASE("detailed statistics show all users to administrators") {
  RunningServer running;
  AddHit(running.breakdown, geteuid());
  AddHit(running.breakdown, geteuid() + 1);
  CHECK(Detailed(running, "builds_by_user_total").size() == 2);
  CHECK(Detailed(running, "hit_duration_seconds_count").at("") == 2);
}

TEST_CASE("the activity has the namespaces with the most requests for deposits first") {
  RunningServer running;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "n" + std::to_string(i);
    for (int use = 0; use <= i; ++use) {
      running.breakdown.Add({.account = Account(geteuid() + 1),
                             .name_space = name,
                             .use = DepositUse::kJoined,
                             .bytes = 7,
                             .saved = std::chrono::milliseconds(3)});
    }
  }
  grpc::ClientContext context;
  v1::ActivityReply reply;
  REQUIRE(v1::Admin::NewStub(running.Connect())->Activity(&context, {}, &reply).ok());
  REQUIRE(reply.namespaces_size() == 8);
  CHECK(reply.namespaces(0).name() == "n11");
  CHECK(reply.namespaces(0).joined() == 12);
  CHECK(reply.namespaces(0).read_bytes() == 84);
  CHECK(reply.namespaces(0).saved_ms() == 36);
}

TEST_CASE("an administrator sets all totals to zero") {
  RunningServer running;
  running.statistics.Add(Counter::kBuilds, 5);
  AddHit(running.breakdown, geteuid());
  REQUIRE(Zero(running).ok());
  CHECK(running.statistics.Get(Counter::kBuilds) == 0);
  CHECK(Detailed(running, "builds_by_user_total").empty());
}

namespace {

v1::ActivityReply AskActivity(const RunningServer& running) {
  grpc::ClientContext context;
  v1::ActivityReply reply;
  REQUIRE(v1::Admin::NewStub(running.Connect())->Activity(&context, {}, &reply).ok());
  return reply;
}

}  // namespace

TEST_CASE("activity has the estimate from earlier compiles of the same kind and toolchain") {
  using std::chrono::seconds;
  RunningServer running;
  BuildAnswer answer;
  answer.outcome = Outcome::kBuilt;
  answer.toolchain_version = "13.0";
  answer.toolchain_id = cccl_cache::Sha256("toolchain");
  for (const int time : {2, 4}) {
    answer.compile_time = seconds(time);
    running.breakdown.Add({Peer{}, BuildKind::kNvrtc, seconds(time), answer});
  }
  running.activity = [&](const Peer& peer) {
    BuildActivity activity{.slots = 2, .running = 1, .more_flights = 7};
    activity.flights.resize(2, {.key = cccl_cache::Sha256("key"),
                                .kind = "nvrtc",
                                .toolchain = ToolchainLabel("13.0", answer.toolchain_id),
                                .state = FlightState::kRunning,
                                .age = seconds(3),
                                .running = seconds(1),
                                .waiters = 5,
                                .uid = peer.uid,
                                .of_asker = true});
    activity.flights.back().kind = "link";
    activity.accounts = {{peer.account(), 3, 1}};
    activity.memory = {.expected_bytes = 50, .limit_bytes = 60, .waiting = 1};
    return activity;
  };
  running.zygotes = {{.toolchain = "13.0", .resident_bytes = 4096, .jobs = 9}};
  const v1::ActivityReply reply = AskActivity(running);
  CHECK(reply.slots() == 2);
  CHECK(reply.more_flights() == 7);
  REQUIRE(reply.flights_size() == 2);
  CHECK(reply.flights(0).key() == cccl_cache::Sha256("key").Hex());
  CHECK(reply.flights(0).state() == v1::FLIGHT_STATE_RUNNING);
  CHECK(reply.flights(0).estimate_ms() == 3000);
  CHECK(reply.flights(0).age_ms() == 3000);
  CHECK(reply.flights(0).running_ms() == 1000);
  CHECK(reply.flights(0).of_this_process());
  CHECK(reply.flights(0).waiters() == 5);
  CHECK(reply.flights(0).uid() == geteuid());
  CHECK(reply.flights(1).estimate_ms() == 0);
  REQUIRE(reply.users_size() == 1);
  CHECK(reply.users(0).user() == std::to_string(geteuid()));
  CHECK(reply.users(0).queued() == 3);
  REQUIRE(reply.zygotes_size() == 1);
  CHECK(reply.zygotes(0).resident_bytes() == 4096);
  CHECK(reply.compile_memory_bytes() == 50);
  CHECK(reply.compile_memory_limit_bytes() == 60);
  CHECK(reply.waiting_for_memory() == 1);
}

TEST_CASE("activity has the text of the caller's failures, but only the code of others") {
  RunningServer running;
  for (const uid_t uid : {geteuid() + 1, geteuid()}) {
    Peer peer;
    peer.uid = uid;
    const Result<BuildAnswer> failed = Error{ErrorCode::kTimedOut, "secret of its source"};
    running.failures.Add({peer, BuildKind::kNvvm, std::chrono::microseconds(1), failed});
  }
  const v1::ActivityReply reply = AskActivity(running);
  REQUIRE(reply.failures_size() == 2);
  CHECK(reply.failures(0).uid() == geteuid());
  CHECK(reply.failures(0).error() == "secret of its source");
  CHECK(reply.failures(0).kind() == "nvvm");
  CHECK(reply.failures(1).error() == Name(ErrorCode::kTimedOut));
}

TEST_CASE("toolchains are listed with their components, and rejected ones with the reason") {
  RunningServer running;
  auto toolchain = std::make_shared<Toolchain>();
  toolchain->id = cccl_cache::Sha256("id");
  toolchain->major = 13;
  toolchain->root = "/opt/cuda";
  toolchain->nvrtc =
      CompilerLibrary{"/opt/cuda/lib/libnvrtc.so", {}, "13.0", {}, cccl_cache::Sha256("stamp")};
  toolchain->headers = {{"/opt/cuda/include", {}}};
  toolchain->capabilities.pch = true;
  toolchain->capabilities.architectures = {75, 120};
  running.toolchains.present = {toolchain};
  running.toolchains.rejected = {{"/home/a/cuda", "can be written by others"}};
  grpc::ClientContext context;
  v1::ToolchainsReply reply;
  REQUIRE(v1::Admin::NewStub(running.Connect())->Toolchains(&context, {}, &reply).ok());
  REQUIRE(reply.toolchains_size() == 1);
  CHECK(reply.toolchains(0).id() == cccl_cache::Sha256("id").Hex());
  CHECK(reply.toolchains(0).version() == "13.0");
  CHECK_FALSE(reply.toolchains(0).selected_by_default());
  REQUIRE(reply.toolchains(0).components_size() == 1);
  CHECK(reply.toolchains(0).components(0).path() == "/opt/cuda/lib/libnvrtc.so");
  CHECK(reply.toolchains(0).components(0).stamp() == cccl_cache::Sha256("stamp").Hex());
  CHECK(reply.toolchains(0).accepted_options(0) == "--pch");
  REQUIRE(reply.toolchains(0).architectures_size() == 2);
  CHECK(reply.toolchains(0).architectures(1) == "sm_120");
  REQUIRE(reply.rejected_size() == 1);
  CHECK(reply.rejected(0).reason() == "can be written by others");
}

/// The major versions must be in descending order.
std::vector<ToolchainPtr> Majors(const std::vector<int>& majors) {
  std::vector<ToolchainPtr> toolchains;
  for (const int major : majors) {
    auto toolchain = std::make_shared<Toolchain>();
    toolchain->major = major;
    toolchains.push_back(std::move(toolchain));
  }
  return toolchains;
}

std::vector<bool> Selected(const RunningServer& running, uint32_t driver_version) {
  grpc::ClientContext context;
  v1::ToolchainsRequest request;
  request.set_driver_version(driver_version);
  v1::ToolchainsReply reply;
  REQUIRE(v1::Admin::NewStub(running.Connect())->Toolchains(&context, request, &reply).ok());
  std::vector<bool> selected;
  for (const auto& toolchain : reply.toolchains()) {
    selected.push_back(toolchain.selected_by_default());
  }
  return selected;
}

TEST_CASE("the toolchain selected for the client's driver is marked") {
  RunningServer running;
  running.toolchains.present = Majors({13, 12});
  running.toolchains.by_driver = {{0, running.toolchains.present[0]},
                                  {12040, running.toolchains.present[1]}};
  CHECK(Selected(running, 0) == std::vector{true, false});
  CHECK(Selected(running, 12040) == std::vector{false, true});
  CHECK(Selected(running, 11080) == std::vector{false, false});
}

TEST_CASE("changed toolchains are scanned before they are listed") {
  RunningServer running;
  running.toolchains.changed = true;
  auto selected = std::async(std::launch::async, [&] { return Selected(running, 0); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (running.toolchains.looking() == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  running.toolchains.present = Majors({13});
  running.toolchains.by_driver = {{0, running.toolchains.present[0]}};
  running.toolchains.changed = false;
  running.toolchains.FinishLooking();
  CHECK(selected.get() == std::vector{true});
}

TEST_CASE("a release has one or two digests of 32 bytes") {
  RunningServer running;
  const auto error = [&](const std::vector<std::string>& digests) {
    v1::AddReleaseRequest request;
    for (const std::string& each : digests) request.add_sha256(each);
    return CallRaw(running, "/cccl_cache.v1.Admin/AddRelease", request.SerializeAsString()).error;
  };
  const std::string digest(32, 'd');
  CHECK(error({}) == "invalid-request");
  CHECK(error({digest, digest, digest}) == "invalid-request");
  CHECK(error({digest, "short"}) == "invalid-request");
  CHECK(error({digest, digest}) == "toolchain-not-found");  // the answer of FakeReleases
}

}  // namespace
}  // namespace cccl_cache::daemon::admin_service_test
