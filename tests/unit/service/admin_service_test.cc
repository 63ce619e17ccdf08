// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/admin_service.h"

#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "cccl_cache/v1/admin.grpc.pb.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cached {
namespace {

namespace v1 = cccl_cache::v1;

TEST_CASE("statistics hold every counter and the gauges of this moment") {
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
  CHECK(gauges.at("clients") == 1);
  CHECK(gauges.at("in_flight") == 2);
  CHECK(gauges.at("queued") == 3);
  CHECK(gauges.at("uptime_seconds") > 0);
}

TEST_CASE("toolchains are told with what they consist of, and the refused ones with the reason") {
  RunningServer running;
  auto toolchain = std::make_shared<Toolchain>();
  toolchain->id = cccl_cache::Sha256("id");
  toolchain->major = 13;
  toolchain->root = "/opt/cuda";
  toolchain->nvrtc = CompilerLibrary{"/opt/cuda/lib/libnvrtc.so", {}, "13.0", {}};
  toolchain->headers = {{"/opt/cuda/include", {}}};
  toolchain->capabilities.pch = true;
  running.toolchains.present = {toolchain};
  running.toolchains.rejected = {{"/home/a/cuda", "can be written by others"}};
  grpc::ClientContext context;
  v1::ToolchainsReply reply;
  REQUIRE(v1::Admin::NewStub(running.Connect())->Toolchains(&context, {}, &reply).ok());
  REQUIRE(reply.toolchains_size() == 1);
  CHECK(reply.toolchains(0).id() == cccl_cache::Sha256("id").Hex());
  CHECK(reply.toolchains(0).version() == "13.0");
  CHECK(reply.toolchains(0).selected_by_default());
  REQUIRE(reply.toolchains(0).components_size() == 1);
  CHECK(reply.toolchains(0).components(0).path() == "/opt/cuda/lib/libnvrtc.so");
  CHECK(reply.toolchains(0).accepted_options(0) == "--pch");
  REQUIRE(reply.rejected_size() == 1);
  CHECK(reply.rejected(0).reason() == "can be written by others");
}

}  // namespace
}  // namespace cccl_cached
