// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <string>

namespace cccl_cached {

/// Calls whose headers are sent and whose messages do not come. They are cancelled at the end.
class StalledCalls {
 public:
  StalledCalls(std::shared_ptr<grpc::Channel> channel, const std::string& method, size_t count);
  ~StalledCalls();
  StalledCalls(const StalledCalls&) = delete;
  StalledCalls& operator=(const StalledCalls&) = delete;

 private:
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::deque<grpc::ClientContext> contexts_;
  std::deque<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> calls_;
};

/// Whether a small build is refused for too many calls, or no longer refused, within a generous
/// time.
[[nodiscard]] bool WaitUntilRefused(const std::shared_ptr<grpc::Channel>& channel);
[[nodiscard]] bool WaitUntilNotRefused(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace cccl_cached
