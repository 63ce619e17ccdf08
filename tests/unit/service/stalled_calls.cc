// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/service/stalled_calls.h"

#include <catch2/catch.hpp>
#include <chrono>

#include "cccl_cache/v1/build.grpc.pb.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon {
StalledCalls::StalledCalls(std::shared_ptr<grpc::Channel> channel, std::string method, size_t count)
    : channel_(std::move(channel)), method_(std::move(method)), stub_(channel_) {
  while (calls_.size() < count) Add();
}

void StalledCalls::Add() {
  calls_.push_back(stub_.PrepareCall(&contexts_.emplace_back(), method_, &queue_));
  calls_.back()->StartCall(nullptr);
  void* tag = nullptr;
  bool ok = false;
  REQUIRE(queue_.Next(&tag, &ok));
  REQUIRE(ok);
}

bool StalledCalls::AddUntilRefused() {
  constexpr size_t kMany = 200;
  while (calls_.size() < kMany) {
    // The calls of Refused() may overtake the added call and find room. Then one more call is
    // added.
    Add();
    if (Refused()) return true;
  }
  return false;
}

bool StalledCalls::Refused() {
  // One refusal proves nothing: a call still counts for a moment after its end.
  for (int i = 0; i < 50; ++i) {
    if (!IsRefused(channel_)) return false;
  }
  return true;
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

bool IsRefused(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  // A call that is not refused may wait as long as the stalled calls last.
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  cccl_cache::v1::BuildReply reply;
  const auto status =
      cccl_cache::v1::Build::NewStub(channel)->Build(&context, SmallRequest(), &reply);
  return status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

bool WaitUntilNotRefused(const std::shared_ptr<grpc::Channel>& channel) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < until) {
    if (!IsRefused(channel)) return true;
  }
  return false;
}

}  // namespace cccl_cache::daemon
