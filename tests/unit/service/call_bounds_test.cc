// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "cccl_cache/v1/info.grpc.pb.h"
#include "tests/unit/service/raw_call.h"
#include "tests/unit/service/running_server.h"
#include "tests/unit/service/stalled_calls.h"

namespace cccl_cache::daemon::call_bounds_test {
namespace {

namespace v1 = cccl_cache::v1;

const std::vector<std::string> kSmall = {
    "/cccl_cache.v1.Info/Get",         "/cccl_cache.v1.Admin/Stats",
    "/cccl_cache.v1.Admin/Toolchains", "/cccl_cache.v1.Deposit/List",
    "/cccl_cache.v1.Deposit/Remove",   "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch"};
const std::vector<std::string> kBuilds = {
    "/cccl_cache.v1.Build/Build", "/cccl_cache.v1.Build/BuildInChunks",
    "/cccl_cache.v1.Build/BuildWithFiles", "/cccl_cache.v1.Admin/Explain",
    "/cccl_cache.v1.Deposit/Acquire"};
const std::string kMany = "/cccl_cache.v1.Build/BuildMany";
const std::vector<std::string> kStreams = {
    "/cccl_cache.v1.Build/Upload", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/cccl_cache.v1.Snapshot/Create", "/cccl_cache.v1.Snapshot/Insert"};

std::vector<std::string> All(std::vector<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

grpc::Status GetInfo(const std::shared_ptr<grpc::Channel>& channel,
                     std::chrono::milliseconds deadline) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  v1::InfoReply reply;
  return v1::Info::NewStub(channel)->Get(&context, {}, &reply);
}

/// Calls Info until a call has to wait: it may overtake earlier calls. Returns false after a time
/// limit.
bool WaitUntilInfoWaits(const std::shared_ptr<grpc::Channel>& channel) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < until) {
    const auto status = GetInfo(channel, std::chrono::milliseconds(300));
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) return true;
  }
  return false;
}

/// Repeats a call until it is refused, because it may overtake earlier calls of another connection.
/// Returns the last status.
grpc::Status CallUntilRefused(RunningServer& running, const std::string& method) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  grpc::Status status;
  do {
    status = CallRaw(running, method, "").status;
  } while (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED &&
           std::chrono::steady_clock::now() < until);
  return status;
}

TEST_CASE("calls of every method are counted") {
  for (const std::string& method : All({kSmall, kBuilds, {kMany}, kStreams})) {
    INFO(method);
    ServiceLimits limits;
    limits.calls_per_uid = 3;
    RunningServer running(limits);
    auto channel = running.Connect();
    {
      StalledCalls stalled(channel, method);
      CHECK(stalled.AddUntilRefused());
    }
    CHECK(WaitUntilNotRefused(channel));
  }
}

TEST_CASE("every call with one message waits for its turn before the message is received") {
  for (const std::string& method : All({kSmall, kBuilds})) {
    INFO(method);
    RunningServer running;
    auto channel = running.Connect();
    {
      StalledCalls stalled(channel, method, 32);
      CHECK(WaitUntilInfoWaits(channel));
    }
    CHECK(GetInfo(channel, std::chrono::seconds(20)).ok());
  }
}

TEST_CASE("a user may have 16 calls that send many messages") {
  for (const std::string& method : kStreams) {
    INFO(method);
    RunningServer running;
    auto channel = running.Connect();
    StalledCalls stalled(channel, kStreams[0], 8);
    StalledCalls others(channel, kStreams[1], 8);
    const grpc::Status refused = CallUntilRefused(running, method);
    CHECK(refused.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
    CHECK(refused.error_message().find("at most 16") != std::string::npos);
    CHECK(GetInfo(channel, std::chrono::seconds(20)).ok());
  }
}

TEST_CASE("a method for small requests refuses a large one") {
  for (const std::string& method : All({kSmall, {kStreams[1]}})) {
    INFO(method);
    RunningServer running;
    const grpc::Status refused = CallRaw(running, method, std::string(1 << 20, '\0')).status;
    CHECK(refused.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK(refused.error_message() == "a request of 1048576 bytes: at most 4096 are allowed here");
  }
}

TEST_CASE("a method for small requests refuses a malformed one") {
  for (const std::string& method : All({kSmall, {kStreams[1]}})) {
    INFO(method);
    RunningServer running;
    const grpc::Status refused = CallRaw(running, method, std::string(3, '\0')).status;
    CHECK(refused.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK(refused.error_message().find("the message is not a ") == 0);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::call_bounds_test
