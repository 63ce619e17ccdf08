// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/service/stalled_calls.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "cccl_cache/v1/build.grpc.pb.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cached {
namespace {

bool WaitForRefusal(const std::shared_ptr<grpc::Channel>& channel, bool expected) {
  auto stub = cccl_cache::v1::Build::NewStub(channel);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < until) {
    grpc::ClientContext context;
    // One that is not refused may wait for its turn for as long as others stall.
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    cccl_cache::v1::BuildReply reply;
    const auto status = stub->Build(&context, SmallRequest(), &reply);
    const bool refused = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (refused == expected) return true;
  }
  return false;
}

}  // namespace

StalledCalls::StalledCalls(std::shared_ptr<grpc::Channel> channel, const std::string& method,
                           size_t count)
    : stub_(std::move(channel)), contexts_(count) {
  for (grpc::ClientContext& context : contexts_) {
    calls_.push_back(stub_.PrepareCall(&context, method, &queue_));
    calls_.back()->StartCall(nullptr);
    void* tag = nullptr;
    bool ok = false;
    REQUIRE(queue_.Next(&tag, &ok));
    REQUIRE(ok);
  }
}

StalledCalls::~StalledCalls() {
  for (grpc::ClientContext& context : contexts_) context.TryCancel();
  for (auto& call : calls_) {
    grpc::Status status;
    call->Finish(&status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }
}

bool WaitUntilRefused(const std::shared_ptr<grpc::Channel>& channel) {
  return WaitForRefusal(channel, true);
}

bool WaitUntilNotRefused(const std::shared_ptr<grpc::Channel>& channel) {
  return WaitForRefusal(channel, false);
}

}  // namespace cccl_cached
