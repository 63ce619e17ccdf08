// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "cccl_cache/v1/snapshot.grpc.pb.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::snapshot_call_test {
namespace {

namespace v1 = cccl_cache::v1;

ServiceLimits Patient(std::chrono::milliseconds patience) {
  ServiceLimits limits;
  limits.answer_patience = patience;
  return limits;
}

/// Creates a snapshot, and returns the status of the call.
grpc::Status Create(RunningServer& running) {
  const auto stub = v1::Snapshot::NewStub(running.Connect());
  grpc::ClientContext context;
  const auto call = stub->Create(&context);
  v1::SnapshotCreateRequest request;
  request.set_last(true);
  call->Write(request);
  v1::SnapshotCreateReply reply;
  while (call->Read(&reply)) {
  }
  return call->Finish();
}

TEST_CASE("a caller that sends only empty messages is cut off") {
  RunningServer running(Patient(std::chrono::milliseconds(200)));
  const auto stub = v1::Snapshot::NewStub(running.Connect());
  grpc::ClientContext context;
  v1::SnapshotInsertReply reply;
  const auto call = stub->Insert(&context, &reply);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (call->Write({}) && std::chrono::steady_clock::now() < until) {
  }
  CHECK(std::chrono::steady_clock::now() < until);
  call->WritesDone();
  CHECK_FALSE(call->Finish().ok());
}

TEST_CASE("the memory of a snapshot counts as its caller's bytes in flight") {
  RunningServer running;
  running.snapshots.create = [](const SnapshotCaller& caller, const SnapshotFilter&,
                                const Snapshots::Sink&) -> Result<SnapshotSummary> {
    const uint64_t most = ServiceLimits().bytes_in_flight_per_uid;
    CHECK(caller.hold(most).ok());
    // Replaces the amount that was held before.
    CHECK(caller.hold(most).ok());
    const Status refused = caller.hold(most + 1);
    REQUIRE_FALSE(refused.ok());
    return refused.error();
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(Create(running).error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::snapshot_call_test
