// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/reserve_call.h"

#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "cccl_cache/v1/deposit.grpc.pb.h"
#include "tests/support/wait_until.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::reserve_call_test {
namespace {

namespace v1 = cccl_cache::v1;

void SetKind(const std::string& name, v1::MemoryKind* kind) {
  kind->set_tool("tool");
  kind->set_kind(name);
}

/// One call of Reserve.
struct Reserving {
  explicit Reserving(const RunningServer& running, const std::string& name = "a")
      : stub(v1::Deposit::NewStub(running.Connect())) {
    v1::ReserveRequest request;
    SetKind(name, request.mutable_kind());
    reader = stub->Reserve(&context, request);
  }
  ~Reserving() { context.TryCancel(); }
  bool Granted() {
    v1::ReserveReply reply;
    return reader->Read(&reply);
  }

  std::unique_ptr<v1::Deposit::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::ReserveReply>> reader;
};

grpc::Status Report(const RunningServer& running, const std::string& name, uint64_t bytes) {
  const auto stub = v1::Deposit::NewStub(running.Connect());
  grpc::ClientContext context;
  v1::ReportPeakRequest request;
  SetKind(name, request.mutable_kind());
  request.set_peak_bytes(bytes);
  v1::ReportPeakReply reply;
  return stub->ReportPeak(&context, request, &reply);
}

bool WaitForWaiting(const RunningServer& running, size_t count) {
  return WaitUntil([&] { return running.memory.activity().waiting == count; });
}

TEST_CASE("a call gets the memory when another call ends") {
  const RunningServer running;  // with memory for two
  Reserving first(running);
  auto second = std::make_unique<Reserving>(running);
  REQUIRE(first.Granted());
  REQUIRE(second->Granted());
  CHECK(running.memory.activity().reservations == 2);
  Reserving third(running);
  REQUIRE(WaitForWaiting(running, 1));
  second = nullptr;
  CHECK(third.Granted());
}

TEST_CASE("a call that ends while it waits leaves the queue") {
  const RunningServer running;
  Reserving first(running);
  Reserving second(running);
  REQUIRE(first.Granted());
  REQUIRE(second.Granted());
  {
    Reserving third(running);
    REQUIRE(WaitForWaiting(running, 1));
  }
  CHECK(WaitForWaiting(running, 0));
}

TEST_CASE("a report of the memory of a run decides how many start together") {
  const RunningServer running;
  CHECK(Report(running, "a", CompileMemory::kUnknownBytes / 4).ok());
  std::vector<std::unique_ptr<Reserving>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::make_unique<Reserving>(running));
    CHECK(calls.back()->Granted());
  }
}

TEST_CASE("a kind without a name, or with a long one, is refused") {
  const RunningServer running;
  for (const std::string& name : {std::string(), std::string(129, 'a')}) {
    Reserving call(running, name);
    CHECK_FALSE(call.Granted());
    CHECK(call.reader->Finish().error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK(Report(running, name, 1).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_CASE("no memory is reserved for the overflow uid") {
  v1::MemoryKind kind;
  SetKind("a", &kind);
  const Peer peer{.uid = kOverflowUid, .gid = 0, .groups = {}};
  CHECK(MemoryKindOf(kind, peer).error().code == ErrorCode::kDenied);
}

TEST_CASE("waiting calls are answered when the daemon stops") {
  RunningServer running;
  Reserving first(running);
  Reserving second(running);
  REQUIRE(first.Granted());
  REQUIRE(second.Granted());
  Reserving third(running);
  REQUIRE(WaitForWaiting(running, 1));
  running.queue.StopReserving();
  CHECK_FALSE(third.Granted());
  CHECK(third.reader->Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace cccl_cache::daemon::reserve_call_test
