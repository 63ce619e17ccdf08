// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/build_call.h"

#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/service/raw_call.h"
#include "tests/unit/service/running_server.h"
#include "tests/unit/service/stalled_calls.h"

namespace cccl_cache::daemon::build_call_test {
namespace {

namespace v1 = cccl_cache::v1;

TEST_CASE("a build is answered with its artifact") {
  RunningServer running;
  running.builder.AnswerWith([](const cccl_cache::BuildRequest& request, const Peer& peer) {
    const auto& program = std::get<cccl_cache::NvrtcProgram>(request.program);
    return MakeAnswer(program.source + "/" + program.options[0] + "/" + std::to_string(peer.uid));
  });
  const auto [status, reply, error, retry_ms] = Ask(*running.BuildStub(), SmallRequest());
  REQUIRE(status.ok());
  CHECK(reply.outcome() == v1::OUTCOME_HIT);
  CHECK(reply.tier() == v1::TIER_MEMORY);
  REQUIRE(reply.artifacts_size() == 1);
  CHECK(reply.artifacts(0).contents() ==
        "__global__ void f() {}/-arch=sm_90/" + std::to_string(getuid()));
  REQUIRE(running.builder.peers().size() == 1);
  CHECK(running.builder.peers()[0].pid == getpid());
}

TEST_CASE("a message that is not protobuf is an invalid argument") {
  RunningServer running;
  for (const std::string& bytes : {std::string("this is not protobuf"), std::string(1000, '\xff'),
                                   std::string("\x0a\x7f", 2)}) {
    const RawAnswer answer = CallRaw(running, "/cccl_cache.v1.Build/Build", bytes);
    CHECK(answer.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK(answer.status.error_message().find("not a cccl_cache.v1.BuildRequest") !=
          std::string::npos);
    CHECK(answer.error == "invalid-request");
  }
  CHECK(running.builder.peers().empty());
  CHECK(running.budget.Used(Resource::kBytes) == 0);
}

TEST_CASE("100,000 inline headers are refused with the field and the limit") {
  RunningServer running;
  v1::BuildRequest request = SmallRequest();
  for (int i = 0; i < 100'000; ++i) request.mutable_nvrtc()->add_headers()->set_name("h");
  const grpc::Status status = Ask(*running.BuildStub(), request).status;
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message() ==
        "nvrtc.headers: 100000 entries, at most 10000 are allowed: send fewer, or put headers into "
        "a directory and name it with -I");
}

TEST_CASE("a source of 20 MB is refused with both sizes") {
  RunningServer running;
  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes(std::string(20'000'000, ' '));
  const grpc::Status status = Ask(*running.BuildStub(), request).status;
  CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(status.error_message().find("16777216") != std::string::npos);
}

TEST_CASE("a message just within the limit is accepted") {
  RunningServer running;
  running.builder.AnswerWith([](const cccl_cache::BuildRequest& request, const Peer&) {
    const auto& program = std::get<cccl_cache::NvrtcProgram>(request.program);
    return MakeAnswer(std::to_string(program.source.size()));
  });
  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes(std::string((16 << 20) - 100, ' '));
  const Answered answered = Ask(*running.BuildStub(), request);
  REQUIRE(answered.status.ok());
  CHECK(answered.reply.artifacts(0).contents() == std::to_string((16 << 20) - 100));
}

TEST_CASE("a compressed message is refused") {
  RunningServer running;
  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes(std::string(1'000'000, ' '));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::BuildReply reply;
  const auto status = running.BuildStub()->Build(&context, request, &reply);
  CHECK(status.error_code() == grpc::StatusCode::UNIMPLEMENTED);
  CHECK(running.builder.peers().empty());
}

TEST_CASE("an error of the builder keeps its name, retry time and status") {
  RunningServer running;
  running.builder.AnswerWith([](const auto&, const auto&) {
    return Error{ErrorCode::kOverloaded, "the reason", std::chrono::milliseconds(250)};
  });
  const Answered answered = Ask(*running.BuildStub(), SmallRequest());
  CHECK(answered.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(answered.status.error_message() == "the reason");
  CHECK(answered.error == "overloaded");
  CHECK(answered.retry_ms == "250");
}

TEST_CASE("the service does not count a refusal by the builder, whatever the method") {
  RunningServer running;
  running.builder.AnswerWith([](const auto&, const auto&) {
    return Error{ErrorCode::kOverloaded, "the reason"};
  });
  const std::string build = SmallRequest().SerializeAsString();
  v1::BuildWithFilesRequest with_files;
  *with_files.mutable_build() = SmallRequest();
  v1::BuildManyRequest many;
  *many.mutable_build() = SmallRequest();
  for (const auto& [method, request] :
       {std::pair("Build", build), std::pair("BuildInChunks", build),
        std::pair("BuildWithFiles", with_files.SerializeAsString()),
        std::pair("BuildMany", many.SerializeAsString())}) {
    INFO(method);
    const RawAnswer answer =
        CallRaw(running, std::string("/cccl_cache.v1.Build/") + method, request);
    CHECK((answer.error + answer.message).find("overloaded") != std::string::npos);
    CHECK(running.statistics.Get(Counter::kRefused) == 0);
  }
}

TEST_CASE("a caller leaves its build when its deadline passes") {
  // If the deadline passes before the call reaches the builder, a new call gets more time.
  for (std::chrono::milliseconds patience(100);; patience *= 2) {
    RunningServer running;
    running.builder.AnswerWith(nullptr);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patience);
    v1::BuildReply reply;
    const auto status = running.BuildStub()->Build(&context, SmallRequest(), &reply);
    CHECK(status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
    if (running.builder.peers().empty() && patience < std::chrono::seconds(10)) continue;
    CHECK(running.builder.WaitForLeft(1));
    break;
  }
}

TEST_CASE("a cancelled call counts as long as the builder has its build") {
  RunningServer running;
  std::promise<Builder::Done> held;
  running.builder.AnswerLater(
      [&](const Caller&, Builder::Done done) { held.set_value(std::move(done)); });
  grpc::ClientContext context;
  auto status = std::async(std::launch::async, [&] {
    v1::BuildReply reply;
    return running.BuildStub()->Build(&context, SmallRequest(), &reply);
  });
  Builder::Done done = held.get_future().get();
  context.TryCancel();
  CHECK(status.get().error_code() == grpc::StatusCode::CANCELLED);
  REQUIRE(running.builder.WaitForLeft(1));
  running.server.reset();  // the call has ended
  CHECK(running.budget.Used(Resource::kCalls) == 1);
  CHECK(running.budget.Used(Resource::kBytes) > 0);
  done(MakeAnswer("cubin"));
  done = nullptr;
  CHECK(running.budget.Used(Resource::kCalls) == 0);
  CHECK(running.budget.Used(Resource::kBytes) == 0);
}

TEST_CASE("concurrent answers and cancellations end each call once") {
  RunningServer running;
  running.builder.AnswerWith(nullptr);
  auto channel = running.Connect();
  constexpr size_t kCallers = 40;
  for (int round = 0; round < 10; ++round) {
    std::vector<grpc::ClientContext> contexts(kCallers);
    std::vector<std::thread> callers;
    for (auto& context : contexts) {
      callers.emplace_back([&channel, &context] {
        v1::BuildReply reply;
        const auto stub = v1::Build::NewStub(channel);
        const auto status = stub->Build(&context, SmallRequest(), &reply);
        const bool known = status.ok() || status.error_code() == grpc::StatusCode::CANCELLED;
        if (!known) FAIL(status.error_message());
      });
    }
    REQUIRE(running.builder.WaitForWaiting(kCallers));
    std::thread canceller([&] {
      for (auto& context : contexts) context.TryCancel();
    });
    running.builder.AnswerAll(MakeAnswer("raced"));
    canceller.join();
    for (auto& caller : callers) caller.join();
  }
}

TEST_CASE("calls of one user are bounded") {
  ServiceLimits limits;
  limits.calls_per_uid = 3;
  RunningServer running(limits);
  running.builder.AnswerWith(nullptr);
  auto stub = running.BuildStub();
  std::vector<std::future<std::string>> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(std::async(std::launch::async, [&] { return BuildOver(*stub); }));
  }
  REQUIRE(running.builder.WaitForWaiting(3));
  const auto [status, reply, error, retry_ms] = Ask(*stub, SmallRequest());
  CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(status.error_message().find("at most 3 calls in flight") != std::string::npos);
  CHECK(error == "overloaded");
  CHECK_FALSE(retry_ms.empty());
  CHECK(running.statistics.Get(Counter::kRefused) == 1);
  running.builder.AnswerAll(MakeAnswer("done"));
  for (auto& call : held) CHECK(call.get() == "done");
}

TEST_CASE("a call that waits for its turn no longer counts after its caller has left") {
  ServiceLimits limits;
  limits.calls_per_uid = 36;
  RunningServer running(limits);
  auto channel = running.Connect();
  StalledCalls stalled(channel, "/cccl_cache.v1.Build/Build", 32);
  {
    StalledCalls queued(channel, "/cccl_cache.v1.Build/Build");
    REQUIRE(queued.AddUntilRefused());
  }
  CHECK(WaitUntilNotRefused(channel));
}

TEST_CASE("a user's bytes in flight are limited") {
  ServiceLimits limits;
  limits.bytes_in_flight_per_uid = 64 << 10;
  RunningServer running(limits);
  v1::BuildRequest request = SmallRequest();
  SECTION("bytes of a message, with fields that the daemon does not know") {
    request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
        9'999, std::string(65 << 10, 'x'));
  }
  SECTION("bytes of a request") {
    request.mutable_nvrtc()->mutable_source()->set_inline_bytes(std::string(65 << 10, ' '));
  }
  const Answered answered = Ask(*running.BuildStub(), request);
  CHECK(answered.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  CHECK(answered.error == "overloaded");
  CHECK(running.budget.Used(Resource::kBytes) == 0);
}

TEST_CASE("an artifact too large for one message is sent by BuildInChunks") {
  RunningServer running;
  const std::string large(20 << 20, 'L');
  running.builder.AnswerWith([&](const auto&, const auto&) { return MakeAnswer(large); });
  auto stub = running.BuildStub();
  const Answered answered = Ask(*stub, SmallRequest());
  REQUIRE(answered.status.ok());
  REQUIRE(answered.reply.artifacts_size() == 1);
  CHECK(answered.reply.artifacts(0).in_chunks());
  CHECK(answered.reply.artifacts(0).contents().empty());

  grpc::ClientContext context;
  auto stream = stub->BuildInChunks(&context, SmallRequest());
  v1::BuildChunk chunk;
  REQUIRE(stream->Read(&chunk));
  CHECK(chunk.reply().artifacts(0).size() == large.size());
  std::string data;
  while (stream->Read(&chunk)) data += chunk.data();
  REQUIRE(stream->Finish().ok());
  CHECK((data == large));
}

TEST_CASE("a client that stops reading blocks no other client, and no shutdown") {
  RunningServer running;
  running.builder.AnswerWith([](const auto&, const auto&) {
    static const auto answer = MakeAnswer(std::string(64 << 20, 'L'));
    return answer;
  });
  auto stuck = running.BuildStub();
  grpc::ClientContext context;
  auto stream = stuck->BuildInChunks(&context, SmallRequest());
  v1::BuildChunk chunk;
  REQUIRE(stream->Read(&chunk));
  for (int i = 0; i < 20; ++i) {
    running.builder.AnswerWith([](const auto&, const auto&) { return MakeAnswer("quick"); });
    REQUIRE(BuildOver(*running.BuildStub()) == "quick");
  }
  running.server->Shutdown(std::chrono::milliseconds(50));
  while (stream->Read(&chunk)) {
  }
  CHECK_FALSE(stream->Finish().ok());
}

}  // namespace
}  // namespace cccl_cache::daemon::build_call_test
