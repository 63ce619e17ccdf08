// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <grp.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/files/file_descriptor.h"
#include "cccl_cache/v1/admin.grpc.pb.h"
#include "cccl_cache/v1/info.grpc.pb.h"
#include "daemon/service/server.h"
#include "proto/daemons_rights.h"
#include "tests/support/root.h"
#include "tests/unit/service/running_server.h"
#include "tests/unit/service/stalled_calls.h"

namespace cccl_cache::daemon::server_peers_test {
namespace {

namespace v1 = cccl_cache::v1;

constexpr char kBuild[] = "/cccl_cache.v1.Build/Build";

/// A message of one byte with a descriptor (SCM_RIGHTS).
class DescriptorMessage {
 public:
  DescriptorMessage() {
    header_.msg_iov = &data_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_;
    header_.msg_controllen = sizeof(control_);
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  [[nodiscard]] msghdr* header() { return &header_; }
  void Put(int fd) {
    cmsghdr* control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(control)) = fd;
  }
  [[nodiscard]] int descriptor() {
    return *reinterpret_cast<const int*>(CMSG_DATA(CMSG_FIRSTHDR(&header_)));
  }

 private:
  char byte_ = 'x';
  iovec data_{&byte_, 1};
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int))] = {};
  msghdr header_{};
};

/// Returns a connection to the server that a process with this uid and group has opened.
int ConnectAs(uid_t uid, gid_t group, const std::string& path) {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  FileDescriptor here(pair[0]);
  FileDescriptor there(pair[1]);
  const pid_t child = fork();
  if (child == 0) {
    // Only system calls from here on, because the parent has threads.
    const gid_t groups[] = {group, 7};
    if (setgroups(2, groups) != 0 || setgid(uid) != 0 || setuid(uid) != 0) _exit(1);
    const int fd = ConnectRaw(path);
    if (fd < 0) _exit(2);
    DescriptorMessage message;
    message.Put(fd);
    _exit(sendmsg(there.get(), message.header(), 0) == 1 ? 0 : 3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  DescriptorMessage message;
  REQUIRE(recvmsg(here.get(), message.header(), MSG_CMSG_CLOEXEC) == 1);
  return message.descriptor();
}

std::shared_ptr<grpc::Channel> ChannelOver(int fd) {
  REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
  return grpc::CreateInsecureChannelFromFd("peer", fd);
}

std::unique_ptr<v1::Build::Stub> StubOver(int fd) { return v1::Build::NewStub(ChannelOver(fd)); }

Result<BuildAnswer> AnswerWithPeer(const cccl_cache::BuildRequest&, const Peer& peer) {
  std::string text = std::to_string(peer.uid) + ":" + std::to_string(peer.gid);
  for (const gid_t group : peer.groups) text += "," + std::to_string(group);
  return MakeAnswer(text);
}

Result<BuildAnswer> AnswerWithReach(const cccl_cache::BuildRequest&, const Peer& peer) {
  return MakeAnswer(peer.reach == FileReach::kDaemons ? "the daemon's" : "everybody's");
}

std::string Secret() {
  std::array<char, 128> link;
  const std::string path = "/proc/self/fd/" + std::to_string(kRightsDescriptor);
  const ssize_t size = readlink(path.c_str(), link.data(), link.size());
  REQUIRE(size > 0);
  return std::string(RightsIn({link.data(), static_cast<size_t>(size)}));
}

/// Returns the reach of a build with this secret in its headers, unless it is empty.
std::string ReachOf(v1::Build::Stub& stub, const std::string& secret) {
  grpc::ClientContext context;
  if (!secret.empty()) context.AddMetadata(std::string(kRightsField), secret);
  v1::BuildReply reply;
  REQUIRE(stub.Build(&context, SmallRequest(), &reply).ok());
  return reply.artifacts(0).contents();
}

TEST_CASE("two_users: each call has the credentials of its own connection", "[root]") {
  RequireRoot();
  RunningServer running;
  running.builder.AnswerWith(AnswerWithPeer);
  auto alice = StubOver(ConnectAs(20001, 30001, running.socket()));
  auto bob = StubOver(ConnectAs(20002, 30002, running.socket()));
  auto alice_elsewhere = StubOver(ConnectAs(20001, 5, running.socket()));
  for (int i = 0; i < 3; ++i) {
    CHECK(BuildOver(*alice) == "20001:20001,7,30001");
    CHECK(BuildOver(*bob) == "20002:20002,7,30002");
    CHECK(BuildOver(*alice_elsewhere) == "20001:20001,5,7");
  }
}

TEST_CASE("two_users: a reused descriptor number does not give an earlier user's credentials",
          "[root]") {
  RequireRoot();
  RunningServer running;
  running.builder.AnswerWith(AnswerWithPeer);
  for (uid_t uid = 20001; uid < 20021; ++uid) {
    auto stub = StubOver(ConnectAs(uid, 9, running.socket()));
    CHECK(BuildOver(*stub) == std::to_string(uid) + ":" + std::to_string(uid) + ",7,9");
  }
}

TEST_CASE("only a connection's first call proves rights, of that connection alone") {
  RunningServer running;
  running.builder.AnswerWith(AnswerWithReach);
  const std::string secret = Secret();
  const auto proven = running.BuildStub();
  const auto other = running.BuildStub();
  CHECK(ReachOf(*proven, secret) == "the daemon's");
  CHECK(ReachOf(*other, "") == "everybody's");
  CHECK(ReachOf(*proven, "") == "the daemon's");
  CHECK(ReachOf(*other, secret) == "everybody's");
}

TEST_CASE("the first call proves the rights of a connection whatever its method") {
  RunningServer running;
  running.builder.AnswerWith(AnswerWithReach);
  const auto channel = running.Connect();
  grpc::ClientContext context;
  context.AddMetadata(std::string(kRightsField), Secret());
  v1::InfoReply reply;
  REQUIRE(v1::Info::NewStub(channel)->Get(&context, {}, &reply).ok());
  CHECK(ReachOf(*v1::Build::NewStub(channel), "") == "the daemon's");
}

TEST_CASE("two_users: an upload of one user does not exist for another", "[root]") {
  RequireRoot();
  RunningServer running;
  auto alice = StubOver(ConnectAs(20001, 9, running.socket()));
  auto bob = StubOver(ConnectAs(20002, 9, running.socket()));
  v1::UploadReply uploaded;
  {
    grpc::ClientContext context;
    auto writer = alice->Upload(&context, &uploaded);
    v1::UploadChunk chunk;
    chunk.set_data("secret");
    REQUIRE(writer->Write(chunk));
    writer->WritesDone();
    REQUIRE(writer->Finish().ok());
  }
  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_upload_sha256(uploaded.sha256());
  auto ask = [&](v1::Build::Stub& stub) {
    grpc::ClientContext context;
    v1::BuildReply reply;
    const auto status = stub.Build(&context, request, &reply);
    return status.ok() ? std::string("ok") : Trailer(context, "cccl-error");
  };
  CHECK(ask(*alice) == "ok");
  CHECK(ask(*bob) == "upload-needed");
}

TEST_CASE("the overflow uid keeps no uploads", "[root]") {
  RequireRoot();
  RunningServer running;
  auto nobody = StubOver(ConnectAs(65534, 9, running.socket()));
  grpc::ClientContext context;
  v1::UploadReply reply;
  auto writer = nobody->Upload(&context, &reply);
  writer->WritesDone();
  CHECK(writer->Finish().error_code() == grpc::StatusCode::PERMISSION_DENIED);
}

TEST_CASE("servers of users that left are retired, those of present users are not", "[root]") {
  RequireRoot();
  ServiceLimits limits;
  limits.idle_peer_servers = 2;
  RunningServer running(limits);
  running.builder.AnswerWith(AnswerWithPeer);
  auto stays = StubOver(ConnectAs(20000, 9, running.socket()));
  CHECK(BuildOver(*stays) == "20000:20000,7,9");
  const size_t before = Threads();
  for (uid_t uid = 20001; uid < 20031; ++uid) {
    auto stub = StubOver(ConnectAs(uid, 9, running.socket()));
    CHECK(BuildOver(*stub) == std::to_string(uid) + ":" + std::to_string(uid) + ",7,9");
  }
  // Each server has a thread; the end of a connection may not have been noticed yet.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Threads() > before + 10 && std::chrono::steady_clock::now() < until) {
    FileDescriptor(ConnectRaw(running.socket())).Close();
  }
  CHECK(Threads() <= before + 10);
  CHECK(BuildOver(*stays) == "20000:20000,7,9");
}

TEST_CASE("a queued call of an ended connection does not stop the accept loop", "[root]") {
  RequireRoot();
  ServiceLimits limits;
  limits.idle_peer_servers = 0;
  limits.calls_per_uid = 36;
  RunningServer running(limits);
  // As many calls as may be received at once for one user, so that further calls are queued.
  StalledCalls stalled(ChannelOver(ConnectAs(20001, 9, running.socket())), kBuild, 32);
  {
    StalledCalls queued(ChannelOver(ConnectAs(20001, 10, running.socket())), kBuild);
    REQUIRE(queued.AddUntilRefused());
  }
  // Each new connection ends the servers that have no connections.
  for (int i = 0; i < 5; ++i) CHECK(BuildOver(*running.BuildStub()) == "cubin");
}

TEST_CASE("a server with an endless call delays only the daemon's end", "[root]") {
  RequireRoot();
  ServiceLimits limits;
  limits.idle_peer_servers = 0;
  RunningServer running(limits);
  running.toolchains.looked = false;
  {
    auto admin = v1::Admin::NewStub(ChannelOver(ConnectAs(20001, 9, running.socket())));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
    v1::ToolchainsReply reply;
    REQUIRE_FALSE(admin->Toolchains(&context, {}, &reply).ok());
    REQUIRE(running.toolchains.looking() == 1);
  }
  for (int i = 0; i < 5; ++i) CHECK(BuildOver(*running.BuildStub()) == "cubin");
  running.toolchains.FinishLooking();
}

TEST_CASE("the servers of one user with many sets of groups are limited", "[root]") {
  RequireRoot();
  RunningServer running;
  running.builder.AnswerWith(AnswerWithPeer);
  for (gid_t group = 100; group < 120; ++group) {
    auto alone = StubOver(ConnectAs(20001, group, running.socket()));
    CHECK(BuildOver(*alone) == "20001:20001,7," + std::to_string(group));
  }
  std::vector<FileDescriptor> open;
  for (gid_t group = 200; group < 217; ++group) {
    open.emplace_back(ConnectAs(20002, group, running.socket()));
  }
  CHECK(IsClosedByPeer(open.back().get()));
  char byte = 0;
  CHECK(recv(open.front().get(), &byte, 1, MSG_PEEK) == 1);
  CHECK(running.statistics.Get(Counter::kRefused) == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::server_peers_test
