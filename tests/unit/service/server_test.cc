// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/server.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/files/file_descriptor.h"
#include "cccl_cache/v1/info.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "proto/fingerprint.h"
#include "tests/support/no_more_threads.h"
#include "tests/unit/service/raw_call.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::server_test {
namespace {

namespace v1 = cccl_cache::v1;

TEST_CASE("connections of one user are bounded, and an excess one is closed at once") {
  ServiceLimits limits;
  limits.connections_per_uid = 3;
  RunningServer running(limits);
  std::vector<FileDescriptor> open;
  for (int i = 0; i < 3; ++i) open.emplace_back(ConnectRaw(running.socket()));
  FileDescriptor refused(ConnectRaw(running.socket()));
  CHECK(IsClosedByPeer(refused.get()));
  char byte = 0;
  for (const FileDescriptor& fd : open) {
    // An open connection got the server's SETTINGS.
    CHECK(recv(fd.get(), &byte, 1, MSG_PEEK) == 1);
  }
  CHECK(running.statistics.Get(Counter::kRefused) == 1);
}

TEST_CASE("1,200 short connections leave no descriptor, and no longer count") {
  RunningServer running;
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
  const size_t before = OpenDescriptors();
  // More connections than one uid may have. If ended ones still counted, the last would be refused.
  for (int i = 0; i < 1200; ++i) {
    if (i % 10 == 0) {
      CHECK(BuildOver(*running.BuildStub()) == "cubin");
    } else {
      FileDescriptor fd(ConnectRaw(running.socket()));
      REQUIRE(fd.valid());
    }
  }
  // When this build is answered, all earlier connections have been accepted.
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
  CHECK(Eventually([&] { return OpenDescriptors() <= before; }));
}

TEST_CASE("bytes that are not HTTP/2 end only their own connection") {
  RunningServer running;
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const std::string& bytes :
       {std::string(), std::string(1000, 'g'), preface, std::string("GET / HTTP/1.1\r\n\r\n"),
        preface + std::string(64, '\xff')}) {
    CAPTURE(bytes);
    FileDescriptor fd(ConnectRaw(running.socket()));
    REQUIRE(write(fd.get(), bytes.data(), bytes.size()) == ssize_t(bytes.size()));
    REQUIRE(shutdown(fd.get(), SHUT_WR) == 0);
    CHECK(IsClosedByPeer(fd.get()));
  }
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
}

TEST_CASE("info has limits and versions") {
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
  CHECK(reply.limits().queued_per_uid() == 1'024);
  CHECK(reply.limits().bytes_in_flight_per_uid() == 1ull << 30);
  CHECK(reply.limits().connections() == 8'192);
  CHECK(reply.limits().lease_seconds() == 1200);
}

/// Returns the reply to a request in raw bytes. The packages have no header for the messages of
/// reflection.
std::string ReplyTo(const RunningServer& running, const std::string& method,
                    const std::string& request) {
  const RawAnswer answer = CallRaw(running, method, request);
  return answer.status.ok() ? answer.message
                            : "status " + std::to_string(answer.status.error_code());
}

TEST_CASE("health says serving until the daemon is about to stop") {
  RunningServer running;
  const std::string method = "/grpc.health.v1.Health/Check";
  const std::string build = std::string("\x0a\x13", 2) + "cccl_cache.v1.Build";
  CHECK(ReplyTo(running, method, "") == std::string("\x08\x01", 2));
  CHECK(ReplyTo(running, method, build) == std::string("\x08\x01", 2));
  CHECK(ReplyTo(running, method, std::string("\x0a\x07unknown", 9)) ==
        "status " + std::to_string(grpc::StatusCode::NOT_FOUND));
  running.server->StoppingSoon();
  CHECK(ReplyTo(running, method, "") == std::string("\x08\x02", 2));
  CHECK(ReplyTo(running, method, build) == std::string("\x08\x02", 2));
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
}

TEST_CASE("a server that stops accepting still builds for present clients") {
  RunningServer running;
  const auto before = running.BuildStub();
  CHECK(BuildOver(*before) == "cubin");
  running.server->StopAccepting();
  CHECK(BuildOver(*before) == "cubin");
  CHECK(BuildOver(*running.BuildStub()) != "cubin");
}

TEST_CASE("a problem is reported by Info, and by the health state of the ready service") {
  RunningServer running;
  const std::string method = "/grpc.health.v1.Health/Check";
  const std::string ready = std::string("\x0a\x05", 2) + "ready";
  CHECK(ReplyTo(running, method, ready) == std::string("\x08\x01", 2));
  running.server->SetProblem("the disk is full");
  CHECK(ReplyTo(running, method, ready) == std::string("\x08\x02", 2));
  CHECK(ReplyTo(running, method, "") == std::string("\x08\x01", 2));
  CHECK(ReplyTo(running, "/cccl_cache.v1.Info/Get", "").find("the disk is full") !=
        std::string::npos);
}

TEST_CASE("a watcher of health gets each change, and does not delay the shutdown") {
  namespace health = grpc::health::v1;
  RunningServer running;
  auto stub = health::Health::NewStub(running.Connect());
  grpc::ClientContext context;
  health::HealthCheckRequest request;
  request.set_service("cccl_cache.v1.Build");
  auto known = stub->Watch(&context, request);
  grpc::ClientContext other;
  request.set_service("unknown");
  auto unknown = stub->Watch(&other, request);
  health::HealthCheckResponse state;
  REQUIRE(known->Read(&state));
  CHECK(state.status() == health::HealthCheckResponse::SERVING);
  REQUIRE(unknown->Read(&state));
  CHECK(state.status() == health::HealthCheckResponse::SERVICE_UNKNOWN);
  running.server->StoppingSoon();
  REQUIRE(known->Read(&state));
  CHECK(state.status() == health::HealthCheckResponse::NOT_SERVING);
  running.server->Shutdown(std::chrono::hours(1));
  CHECK_FALSE(known->Read(&state));
  CHECK(known->Finish().error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK_FALSE(unknown->Read(&state));
}

TEST_CASE("reflection lists the services and describes them") {
  RunningServer running;
  const std::string method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  const std::string list = ReplyTo(running, method, std::string("\x3a\x01*", 3));
  for (const char* service : {"cccl_cache.v1.Build", "cccl_cache.v1.Deposit", "cccl_cache.v1.Admin",
                              "cccl_cache.v1.Info", "grpc.health.v1.Health"}) {
    CHECK(list.find(service) != std::string::npos);
  }
  const std::string described =
      ReplyTo(running, method, std::string("\x22\x13", 2) + "cccl_cache.v1.Build");
  CHECK(described.find("BuildInChunks") != std::string::npos);
}

/// A server with a build that waits for its answer.
struct BuildInFlight {
  BuildInFlight() {
    running.builder.AnswerWith(nullptr);
    answer = std::async(std::launch::async, [this] { return BuildOver(*stub); });
    REQUIRE(running.builder.WaitForWaiting(1));
  }

  RunningServer running;
  std::unique_ptr<v1::Build::Stub> stub = running.BuildStub();
  std::future<std::string> answer;
};

TEST_CASE("shutdown lets calls in flight finish and takes no new connections") {
  BuildInFlight call;
  std::thread stopping([&] { call.running.server->Shutdown(std::chrono::seconds(60)); });
  for (FileDescriptor probe(ConnectRaw(call.running.socket())); probe.valid();) {
    probe = FileDescriptor(ConnectRaw(call.running.socket()));
  }
  call.running.builder.AnswerAll(MakeAnswer("finished"));
  CHECK(call.answer.get() == "finished");
  stopping.join();
}

TEST_CASE("shutdown ends calls in flight at its deadline") {
  BuildInFlight call;
  call.running.server->Shutdown(std::chrono::milliseconds(20));
  CHECK(call.running.builder.WaitForLeft(1));
  CHECK(call.answer.get() != "cubin");
}

TEST_CASE("shutdown ends even if no thread can be started") {
  BuildInFlight call;
  const NoMoreThreads none;
  call.running.server->Shutdown(std::chrono::milliseconds(20));
  CHECK(call.running.builder.WaitForLeft(1));
}

TEST_CASE("a user's connections beyond the limit of one server are served by a further one") {
  ServiceLimits limits;
  limits.connections_per_server = 2;
  RunningServer running(limits);
  std::vector<std::unique_ptr<v1::Build::Stub>> stubs;
  for (int i = 0; i < 9; ++i) {
    stubs.push_back(running.BuildStub());
    CHECK(BuildOver(*stubs.back()) == "cubin");
  }
  for (const auto& stub : stubs) CHECK(BuildOver(*stub) == "cubin");
}

TEST_CASE("a user's idle servers beyond the first are ended") {
  ServiceLimits limits;
  limits.connections_per_server = 1;
  limits.idle_server_kept = std::chrono::milliseconds(0);
  RunningServer running(limits);
  const auto stays = running.BuildStub();
  CHECK(BuildOver(*stays) == "cubin");
  const size_t before = Threads();
  constexpr size_t kMore = 10;
  std::vector<FileDescriptor> open;
  for (size_t i = 0; i < kMore; ++i) open.emplace_back(ConnectRaw(running.socket()));
  CHECK(Eventually([&] { return Threads() >= before + kMore; }));
  open.clear();
  CHECK(Eventually([&] { return Threads() < before + kMore / 2; }));
  CHECK(BuildOver(*stays) == "cubin");
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
}

TEST_CASE("shutdown ends the calls of all servers of a user") {
  ServiceLimits limits;
  limits.connections_per_server = 1;
  RunningServer running(limits);
  running.builder.AnswerWith(nullptr);
  std::vector<std::thread> callers;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&] {
      const auto stub = running.BuildStub();
      if (!Ask(*stub, SmallRequest()).status.ok()) ++ended;
    });
  }
  REQUIRE(running.builder.WaitForWaiting(5));
  running.server->Shutdown(std::chrono::milliseconds(20));
  for (auto& caller : callers) caller.join();
  CHECK(ended == 5);
}

TEST_CASE("a connection for which no thread can be started is served by an existing server") {
  ServiceLimits limits;
  limits.connections_per_server = 1;
  RunningServer running(limits);
  const auto first = running.BuildStub();
  CHECK(BuildOver(*first) == "cubin");
  const auto channel = running.Connect();  // starts the client's threads before
  const auto second = v1::Build::NewStub(channel);
  {
    const NoMoreThreads none;
    CHECK(BuildOver(*second) == "cubin");
  }
  CHECK(BuildOver(*first) == "cubin");
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
}  // namespace cccl_cache::daemon::server_test
