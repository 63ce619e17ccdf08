// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cccl_cache/v1/build.grpc.pb.h"
#include "daemon/service/server.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/core/fake_deposits.h"
#include "tests/unit/service/fakes.h"

namespace cccl_cache::daemon {

/// A Server with fake parts on its own socket.
class RunningServer {
 public:
  explicit RunningServer(ServiceLimits limits = {}, Deposits::Options deposit_options = {});

  [[nodiscard]] const std::string& socket() const { return socket_; }
  /// Returns a connection that is not shared with other channels.
  [[nodiscard]] std::shared_ptr<grpc::Channel> Connect() const;
  [[nodiscard]] std::unique_ptr<cccl_cache::v1::Build::Stub> BuildStub() const;

  Budget budget;  ///< declared before the builder, because builds may hold shares of it
  Statistics statistics;
  HourlyCounts hours;
  FakeBuilder builder;
  /// Memory for two runs of unknown kinds.
  CompileMemory memory{2 * CompileMemory::kUnknownBytes * 4 / 3, statistics};
  FairQueue queue{{}, [](uint64_t, const auto&) {}, &memory};
  FakeToolchains toolchains;
  FakeReleases releases;
  BuildBreakdown breakdown;
  RecentFailures failures;
  std::function<BuildActivity(const Peer&)> activity = [](const Peer&) { return BuildActivity{}; };
  std::vector<ZygoteActivity> zygotes;
  FakeDepositStore store;
  Deposits deposits;
  FakeSnapshots snapshots;
  FakeUpkeep upkeep;
  Accounts accounts;
  /// Number of reports to the operator about connections that were cut off.
  std::atomic<int> cut_offs_reported = 0;

 private:
  TemporaryDirectory directory_;
  const std::string socket_;

 public:
  std::unique_ptr<Server> server;
};

/// Returns whether the condition becomes true within a generous time limit.
[[nodiscard]] bool Eventually(const std::function<bool()>& holds);
/// Returns a connected socket, or -1.
[[nodiscard]] int ConnectRaw(const std::string& path);
/// Returns whether the other side closed the socket within a generous time limit.
[[nodiscard]] bool IsClosedByPeer(int fd);
[[nodiscard]] cccl_cache::v1::BuildRequest SmallRequest();
struct Answered {
  grpc::Status status;
  cccl_cache::v1::BuildReply reply;
  std::string error;     ///< the trailer cccl-error
  std::string retry_ms;  ///< the trailer cccl-retry-ms
};
[[nodiscard]] Answered Ask(cccl_cache::v1::Build::Stub& stub,
                           const cccl_cache::v1::BuildRequest& request);
/// Returns the contents of a small build's answer, or the error's message.
[[nodiscard]] std::string BuildOver(cccl_cache::v1::Build::Stub& stub);
/// Returns the trailer, or "".
[[nodiscard]] std::string Trailer(const grpc::ClientContext& context, const std::string& name);
[[nodiscard]] size_t OpenDescriptors();
[[nodiscard]] size_t Threads();

}  // namespace cccl_cache::daemon
