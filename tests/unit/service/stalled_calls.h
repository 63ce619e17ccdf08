// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <string>

namespace cccl_cache::daemon {

/// Calls whose headers were sent but not their messages. The destructor cancels them.
class StalledCalls {
 public:
  StalledCalls(std::shared_ptr<grpc::Channel> channel, std::string method, size_t count = 0);
  ~StalledCalls();
  StalledCalls(const StalledCalls&) = delete;
  StalledCalls& operator=(const StalledCalls&) = delete;

  /// Adds calls until builds are refused for too many calls; returns false if that does not happen.
  [[nodiscard]] bool AddUntilRefused();

 private:
  void Add();
  [[nodiscard]] bool Refused();

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string method_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::deque<grpc::ClientContext> contexts_;
  std::deque<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> calls_;
};

/// Returns whether a small build is refused for too many calls; false if it is answered, or waits.
[[nodiscard]] bool IsRefused(const std::shared_ptr<grpc::Channel>& channel);
/// Returns false after a generous time limit.
[[nodiscard]] bool WaitUntilNotRefused(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace cccl_cache::daemon
