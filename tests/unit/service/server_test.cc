// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/server.h"

#include <fcntl.h>
#include <grp.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cccl_cache/v1/info.grpc.pb.h"
#include "daemon/core/file_descriptor.h"
#include "proto/fingerprint.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cached {
namespace {

namespace v1 = cccl_cache::v1;

/// A connection to the server that a process of another user opened; -1 if it could not.
int ConnectAs(uid_t uid, gid_t group, const std::string& path) {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  FileDescriptor here(pair[0]);
  FileDescriptor there(pair[1]);
  const pid_t child = fork();
  if (child == 0) {
    // Only system calls from here on: the parent has threads.
    const gid_t groups[] = {group, 7};
    if (setgroups(2, groups) != 0 || setgid(uid) != 0 || setuid(uid) != 0) _exit(1);
    const int fd = ConnectRaw(path);
    if (fd < 0) _exit(2);
    char byte = 'x';
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(header)) = fd;
    _exit(sendmsg(there.get(), &message, 0) == 1 ? 0 : 3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  REQUIRE(recvmsg(here.get(), &message, MSG_CMSG_CLOEXEC) == 1);
  return *reinterpret_cast<int*>(CMSG_DATA(CMSG_FIRSTHDR(&message)));
}

std::unique_ptr<v1::Build::Stub> StubOver(int fd) {
  REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
  return v1::Build::NewStub(grpc::CreateInsecureChannelFromFd("peer", fd));
}

std::string BuildOver(v1::Build::Stub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::BuildReply reply;
  const auto status = stub.Build(&context, SmallRequest(), &reply);
  return status.ok() ? reply.artifacts(0).contents() : status.error_message();
}

Result<BuildAnswer> AnswerWithPeer(const cccl_cache::BuildRequest&, const Peer& peer) {
  std::string text = std::to_string(peer.uid) + ":" + std::to_string(peer.gid);
  for (const gid_t group : peer.groups) text += "," + std::to_string(group);
  return MakeAnswer(text);
}

size_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_CASE("two_users: each call is known by the credentials of its own connection") {
  if (geteuid() != 0) {
    WARN("only root can connect as somebody else");
    return;
  }
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

TEST_CASE("two_users: a descriptor number that another user had before tells nothing") {
  if (geteuid() != 0) {
    WARN("only root can connect as somebody else");
    return;
  }
  RunningServer running;
  running.builder.AnswerWith(AnswerWithPeer);
  for (uid_t uid = 20001; uid < 20021; ++uid) {
    auto stub = StubOver(ConnectAs(uid, 9, running.socket()));
    CHECK(BuildOver(*stub) == std::to_string(uid) + ":" + std::to_string(uid) + ",7,9");
  }
}

TEST_CASE("two_users: an upload of one user does not exist for another") {
  if (geteuid() != 0) {
    WARN("only root can connect as somebody else");
    return;
  }
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

TEST_CASE("the overflow uid keeps no uploads") {
  if (geteuid() != 0) {
    WARN("only root can connect as somebody else");
    return;
  }
  RunningServer running;
  auto nobody = StubOver(ConnectAs(65534, 9, running.socket()));
  grpc::ClientContext context;
  v1::UploadReply reply;
  auto writer = nobody->Upload(&context, &reply);
  writer->WritesDone();
  CHECK(writer->Finish().error_code() == grpc::StatusCode::PERMISSION_DENIED);
}

TEST_CASE("servers of users who left are retired, those of users who stay are not") {
  if (geteuid() != 0) {
    WARN("only root can connect as somebody else");
    return;
  }
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
  // Each server has a thread; the news that a connection has ended may still be on its way.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Threads() > before + 10 && std::chrono::steady_clock::now() < until) {
    FileDescriptor(ConnectRaw(running.socket())).Close();
  }
  CHECK(Threads() <= before + 10);
  CHECK(BuildOver(*stays) == "20000:20000,7,9");
}

TEST_CASE("one user with many sets of groups has a bounded number of servers at one time") {
  if (geteuid() != 0) {
    WARN("only root can connect as somebody else");
    return;
  }
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
}

TEST_CASE("connections of one user are bounded and the one too many is closed at once") {
  ServiceLimits limits;
  limits.connections_per_uid = 3;
  RunningServer running(limits);
  std::vector<FileDescriptor> open;
  for (int i = 0; i < 3; ++i) open.emplace_back(ConnectRaw(running.socket()));
  FileDescriptor refused(ConnectRaw(running.socket()));
  CHECK(IsClosedByPeer(refused.get()));
  char byte = 0;
  for (const FileDescriptor& fd : open) {
    // What is open has been greeted with the server's SETTINGS.
    CHECK(recv(fd.get(), &byte, 1, MSG_PEEK) == 1);
  }
  CHECK(running.statistics.Get(Counter::kRefused) == 1);
}

TEST_CASE("after 1,200 short connections no descriptor is left and all were counted down") {
  RunningServer running;
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
  const size_t before = OpenDescriptors();
  // More than the bound for one uid: were they not counted down, the last ones would be refused.
  for (int i = 0; i < 1200; ++i) {
    if (i % 10 == 0) {
      CHECK(BuildOver(*running.BuildStub()) == "cubin");
    } else {
      FileDescriptor fd(ConnectRaw(running.socket()));
      REQUIRE(fd.valid());
    }
  }
  // Whoever connected before this one has been accepted when it is answered.
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  size_t after = OpenDescriptors();
  while (after > before && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
    after = OpenDescriptors();
  }
  CHECK(after <= before);
}

TEST_CASE("bytes that are not HTTP/2 end their own connection alone") {
  RunningServer running;
  FileDescriptor fd(ConnectRaw(running.socket()));
  const std::string garbage(1000, 'g');
  REQUIRE(write(fd.get(), garbage.data(), garbage.size()) == 1000);
  CHECK(IsClosedByPeer(fd.get()));
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
}

TEST_CASE("info tells limits and versions") {
  RunningServer running;
  grpc::ClientContext context;
  v1::InfoReply reply;
  REQUIRE(v1::Info::NewStub(running.Connect())->Get(&context, {}, &reply).ok());
  CHECK(reply.version() == "1.2.3");
  CHECK(reply.fingerprint_layout() == cccl_cache::kFingerprintLayout);
  CHECK(reply.uid() == geteuid());
  CHECK(reply.limits().message_bytes() == 16 << 20);
  CHECK(reply.limits().headers() == 10'000);
  CHECK(reply.limits().build_seconds() == 120);
  CHECK(reply.limits().worker_bytes() == 4ull << 30);
}

/// Health and reflection by bytes: their messages are not among the packages' headers.
std::string CallRaw(RunningServer& running, const std::string& method, const std::string& request) {
  grpc::GenericStub stub(running.Connect());
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  grpc::Slice slice(request);
  grpc::ByteBuffer bytes(&slice, 1);
  grpc::ByteBuffer reply;
  auto stream = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  stream->StartCall(nullptr);
  queue.Next(&tag, &ok);
  stream->WriteLast(bytes, grpc::WriteOptions(), nullptr);
  queue.Next(&tag, &ok);
  stream->Read(&reply, nullptr);
  queue.Next(&tag, &ok);
  std::string text;
  if (ok) {
    std::vector<grpc::Slice> slices;
    REQUIRE(reply.Dump(&slices).ok());
    for (const auto& part : slices) {
      text.append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
  }
  grpc::Status status;
  stream->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  return status.ok() ? text : "status " + std::to_string(status.error_code());
}

TEST_CASE("health says serving until the daemon is about to stop") {
  RunningServer running;
  const std::string method = "/grpc.health.v1.Health/Check";
  const std::string build = std::string("\x0a\x13", 2) + "cccl_cache.v1.Build";
  CHECK(CallRaw(running, method, "") == std::string("\x08\x01", 2));
  CHECK(CallRaw(running, method, build) == std::string("\x08\x01", 2));
  CHECK(CallRaw(running, method, std::string("\x0a\x07unknown", 9)) ==
        "status " + std::to_string(grpc::StatusCode::NOT_FOUND));
  running.server->StoppingSoon();
  CHECK(CallRaw(running, method, "") == std::string("\x08\x02", 2));
  CHECK(CallRaw(running, method, build) == std::string("\x08\x02", 2));
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
}

TEST_CASE("reflection lists the services and describes them") {
  RunningServer running;
  const std::string method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  const std::string list = CallRaw(running, method, std::string("\x3a\x01*", 3));
  for (const char* service : {"cccl_cache.v1.Build", "cccl_cache.v1.Admin", "cccl_cache.v1.Info",
                              "grpc.health.v1.Health"}) {
    CHECK(list.find(service) != std::string::npos);
  }
  const std::string described =
      CallRaw(running, method, std::string("\x22\x13", 2) + "cccl_cache.v1.Build");
  CHECK(described.find("BuildInChunks") != std::string::npos);
}

TEST_CASE("shutdown lets calls in flight finish and takes no new connections") {
  RunningServer running;
  running.builder.AnswerWith(nullptr);
  auto stub = running.BuildStub();
  auto answer = std::async(std::launch::async, [&] { return BuildOver(*stub); });
  REQUIRE(running.builder.WaitForWaiting(1));
  std::thread stopping([&] { running.server->Shutdown(std::chrono::seconds(60)); });
  for (FileDescriptor probe(ConnectRaw(running.socket())); probe.valid();) {
    probe = FileDescriptor(ConnectRaw(running.socket()));
  }
  running.builder.AnswerAll(MakeAnswer("finished"));
  CHECK(answer.get() == "finished");
  stopping.join();
}

TEST_CASE("shutdown ends what is still in flight at its deadline") {
  RunningServer running;
  running.builder.AnswerWith(nullptr);
  auto stub = running.BuildStub();
  auto answer = std::async(std::launch::async, [&] { return BuildOver(*stub); });
  REQUIRE(running.builder.WaitForWaiting(1));
  running.server->Shutdown(std::chrono::milliseconds(20));
  CHECK(running.builder.WaitForLeft(1));
  CHECK(answer.get() != "cubin");
}

TEST_CASE("many callers on one connection are all answered") {
  RunningServer running;
  auto channel = running.Connect();
  std::vector<std::thread> callers;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 200; ++i) {
    callers.emplace_back([&] {
      const auto stub = v1::Build::NewStub(channel);
      if (BuildOver(*stub) == "cubin") ++answered;
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(answered == 200);
}

}  // namespace
}  // namespace cccl_cached
