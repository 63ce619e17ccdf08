// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/upkeep_calls.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <vector>

#include "cccl_cache/v1/admin.grpc.pb.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::upkeep_calls_test {
namespace {

namespace v1 = cccl_cache::v1;

std::string Refusal(const v1::EvictRequest& request) {
  const auto filter = FromProto(request);
  if (filter.ok()) return "taken";
  CHECK(filter.error().code == ErrorCode::kInvalidRequest);
  return filter.error().message;
}

TEST_CASE("each field of an eviction arrives") {
  v1::EvictRequest request;
  request.add_keys("0123ABCD");
  request.add_keys(std::string(64, 'f'));
  const auto keys = FromProto(request);
  REQUIRE(keys.ok());
  REQUIRE(keys->keys.size() == 2);
  CHECK(keys->keys[0].hex == "0123abcd");
  request.Clear();
  request.set_unused_s(UINT64_MAX);
  CHECK(FromProto(request)->unused_for == std::chrono::seconds::max());
  request.Clear();
  request.set_toolchain("89abcdef");
  CHECK(FromProto(request)->toolchain->hex == "89abcdef");
  request.Clear();
  request.set_all(true);
  CHECK(FromProto(request)->all);
}

TEST_CASE("an eviction without exactly one valid filter is refused") {
  CHECK_FALSE(Refusal({}) == "taken");
  v1::EvictRequest request;
  request.set_all(true);
  request.set_unused_s(1);
  CHECK_FALSE(Refusal(request) == "taken");
  request.Clear();
  request.add_keys("0123abc");
  CHECK(Refusal(request).starts_with("keys:"));
  request.Clear();
  request.set_toolchain("13");
  CHECK(Refusal(request).starts_with("toolchain:"));
  request.Clear();
  for (int i = 0; i < 4'097; ++i) request.add_keys("0123abcd");
  CHECK(Refusal(request).starts_with("keys:"));
}

TEST_CASE("an eviction reports its progress, then its result") {
  RunningServer running;
  running.upkeep.evict = [](const EvictionFilter& filter,
                            const auto& progress) -> Result<TierSize> {
    CHECK(filter.all);
    if (Status told = progress({1, 10}); !told) return told.error();
    return TierSize{2, 20};
  };
  const auto stub = v1::Admin::NewStub(running.Connect());
  grpc::ClientContext context;
  v1::EvictRequest request;
  request.set_all(true);
  const auto call = stub->Evict(&context, request);
  std::vector<uint64_t> entries;
  v1::EvictReply reply;
  while (call->Read(&reply)) entries.push_back(reply.entries());
  CHECK(call->Finish().ok());
  CHECK(entries == std::vector<uint64_t>{1, 2});
  CHECK(reply.bytes() == 20);
}

TEST_CASE("a verification is stopped once its caller has left") {
  RunningServer running;
  std::atomic<bool> stopped = false;
  running.upkeep.verify = [&stopped](const auto& progress,
                                     const std::stop_token& left) -> Result<Verified> {
    CHECK(progress({.read = {1, 2}, .all = {3, 4}, .broken = 5, .unreadable = 6}).ok());
    std::promise<void> gone;
    const std::stop_callback leaves(left, [&gone] { gone.set_value(); });
    gone.get_future().wait();
    stopped = true;
    return Error{ErrorCode::kCancelled, "the caller left"};
  };
  const auto stub = v1::Admin::NewStub(running.Connect());
  grpc::ClientContext context;
  const auto call = stub->Verify(&context, {});
  v1::VerifyReply reply;
  REQUIRE(call->Read(&reply));
  CHECK(reply.entries() == 1);
  CHECK(reply.bytes() == 2);
  CHECK(reply.all_entries() == 3);
  CHECK(reply.all_bytes() == 4);
  CHECK(reply.broken() == 5);
  CHECK(reply.unreadable() == 6);
  context.TryCancel();
  CHECK(Eventually([&] { return stopped.load(); }));
  CHECK(call->Finish().error_code() == grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace cccl_cache::daemon::upkeep_calls_test
