// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/service/running_server.h"

#include <grpcpp/create_channel.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

namespace cccl_cache::daemon {

RunningServer::RunningServer(ServiceLimits limits, Deposits::Options deposit_options)
    : budget(limits),
      deposits(std::move(deposit_options), {store, statistics}),
      socket_(directory_.path() + "/socket") {
  // Processes of other users must reach the socket.
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  builder.AnswerWith([](const auto&, const auto&) { return MakeAnswer("cubin"); });
  ServerOptions options;
  options.limits = limits;
  options.version = "1.2.3";
  options.store_limit = 8192;
  ServerSources sources{
      builder,
      queue,
      budget,
      deposits,
      toolchains,
      releases,
      statistics,
      hours,
      breakdown,
      failures,
      snapshots,
      upkeep,
      std::make_shared<SentContents>(std::chrono::steady_clock::now),
      accounts,
      [] {
        return TierSize{7, 4096};
      },
      [] {
        return BuildGauges{2, 3, 4, 5, {.expected_bytes = 50, .limit_bytes = 60, .waiting = 1}};
      },
      [this](const Peer& peer) { return activity(peer); },
      [this] { return zygotes; },
      [](const Peer&, size_t) { return std::vector<UsersBuild>(); },
      [] {
        return std::optional(
            ClusterGauges{.nodes = 3, .connected = 2, .address = "redis://a", .unanswered = 5});
      },
      [] { return std::optional(ShelfGauges{.shelves = 2, .entries = 6}); },
      [this](std::string_view) { ++cut_offs_reported; },
      [](std::string_view) {},
      [] {},
      [] {}};
  server = std::make_unique<Server>(std::move(options), std::move(sources));
  auto listener = ListeningSocket::Bind({socket_, 0666, {}});
  REQUIRE(listener.ok());
  server->AddListener(std::move(*listener));
  REQUIRE(server->Start().ok());
}

std::shared_ptr<grpc::Channel> RunningServer::Connect() const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(32 << 20);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket_, grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::unique_ptr<cccl_cache::v1::Build::Stub> RunningServer::BuildStub() const {
  return cccl_cache::v1::Build::NewStub(Connect());
}

bool Eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

int ConnectRaw(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

bool IsClosedByPeer(int fd) {
  char buffer[4096];
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, 20'000) != 1) return false;
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count <= 0) return true;
  }
}

cccl_cache::v1::BuildRequest SmallRequest() {
  cccl_cache::v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes("__global__ void f() {}");
  request.mutable_nvrtc()->add_options("-arch=sm_90");
  return request;
}

Answered Ask(cccl_cache::v1::Build::Stub& stub, const cccl_cache::v1::BuildRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  Answered answered;
  answered.status = stub.Build(&context, request, &answered.reply);
  answered.error = Trailer(context, "cccl-error");
  answered.retry_ms = Trailer(context, "cccl-retry-ms");
  return answered;
}

std::string BuildOver(cccl_cache::v1::Build::Stub& stub) {
  const Answered answered = Ask(stub, SmallRequest());
  return answered.status.ok() ? answered.reply.artifacts(0).contents()
                              : answered.status.error_message();
}

std::string Trailer(const grpc::ClientContext& context, const std::string& name) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(name);
  if (found == trailers.end()) return {};
  return {found->second.data(), found->second.size()};
}

namespace {

size_t EntriesOf(const char* directory) {
  const std::filesystem::directory_iterator entries(directory);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace

size_t OpenDescriptors() { return EntriesOf("/proc/self/fd"); }

size_t Threads() { return EntriesOf("/proc/self/task"); }

}  // namespace cccl_cache::daemon
